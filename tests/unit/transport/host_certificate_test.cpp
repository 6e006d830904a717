// Tests host certificates made by ssh-keygen: fields, signatures, and each reason for a refusal.
#include "launcher/transport/host_keys/host_certificate.h"

#include <doctest/doctest.h>

#include "launcher/transport/host_keys/host_key_policy.h"
#include "launcher/transport/host_keys/wire_reader.h"
#include "launcher/transport/ssh/ssh_files.h"
#include "support/mutate.h"

using namespace ds::launcher;
using Kind = HostKeyVerdict::Kind;

namespace {

// ssh-keygen -h -I "web 7" -n 'web7,*.cluster' -z 42 -V 20300101000000Z:20400101000000Z
const HostKey kEd{
    "ssh-ed25519-cert-v01@openssh.com",
    "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIOXhOlmb/JCYERzjVQVqRXqS63VHhzWVgmNd"
    "R6w0JHASAAAAIBQtXs2N2fDPuvXNkQocst5AoSCUmmcWh8Z0JP7kyjh0AAAAAAAAACoAAAACAAAABXdlYiA3AAAA"
    "FQAAAAR3ZWI3AAAACSouY2x1c3RlcgAAAABw29iAAAAAAIOqfoAAAAAAAAAAAAAAAAAAAAAzAAAAC3NzaC1lZDI1"
    "NTE5AAAAIDV9scqqLh3MzKebWQSbmYZDDDdKoBKjNGNBQtCPWc/qAAAAUwAAAAtzc2gtZWQyNTUxOQAAAEBRV+57"
    "jkWJA6P//4j8m9BhAFHZ4SsjdXKtVOMN+MCVZZkXcjXqwN7eZzBjQpT9LjCGdXUJueFqSbwSK4VijFIM"};
const HostKey kEdCa{"ssh-ed25519",
                    "AAAAC3NzaC1lZDI1NTE5AAAAIDV9scqqLh3MzKebWQSbmYZDDDdKoBKjNGNBQtCPWc/q"};
const HostKey kEdPlain{"ssh-ed25519",
                       "AAAAC3NzaC1lZDI1NTE5AAAAIBQtXs2N2fDPuvXNkQocst5AoSCUmmcWh8Z0JP7kyjh0"};
const HostKey kEc{
    "ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "AAAAKGVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3BlbnNzaC5jb20AAAAg1LtV3KIIZpdMUCSRTGPQIad+"
    "07dNqaZDVVZzMKp/ES4AAAAIbmlzdHAyNTYAAABBBLq14ZKZ7hYoEaxv6pHF6XRTIvjIQSnVVO2Bj5AB7jff+gc5"
    "JBerqZaDHLeEc/118adpZ4pTRWiJ767Byqgu2v0AAAAAAAAAKgAAAAIAAAAFd2ViIDcAAAAVAAAABHdlYjcAAAAJ"
    "Ki5jbHVzdGVyAAAAAHDb2IAAAAAAg6p+gAAAAAAAAAAAAAAAAAAAAGgAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAA"
    "AAhuaXN0cDI1NgAAAEEEuGhD5QjhCZIXd08HkCXCa59tb33KC5rnDSjFeNBc/6dTwv5IlhAvl/axEGn8vW6V1U1e"
    "AqevP7IL7MVBumYOAgAAAGMAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAEgAAAAgA9xCFWSoqRgndk6acoDlxHpO"
    "wvJ3as7s8DHP4TXxtDgAAAAgapbws5bPnSInL1q2m4DB+/M4CpX3CEJqwgdZD2m/BMo="};
const HostKey kEcCa{
    "ecdsa-sha2-nistp256",
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBLhoQ+UI4QmSF3dPB5AlwmufbW99ygua5w0o"
    "xXjQXP+nU8L+SJYQL5f2sRBp/L1uldVNXgKnrz+yC+zFQbpmDgI="};
const HostKey kRsa{
    "ssh-rsa-cert-v01@openssh.com",
    "AAAAHHNzaC1yc2EtY2VydC12MDFAb3BlbnNzaC5jb20AAAAgKliecSv5atrNqx5Uu+L6YdRsvUUIEWzHOvTNj2Rp"
    "yHAAAAADAQABAAABAQC/T+EbLSrQwjwxf3dqTKQ7WF5xadP3+JIVQ0GbKLJsaP8CgRLNK7LYIp0G8vz20J77ubrs"
    "srVGUdLpLGwd/vxLL3LHyDDKTfVYfb9tOA6/cMrSTFyEYcsnQ2S/F7NHOuBhOIRzhL+PqkxXCDBr1sZTCrksFuZc"
    "fkJZrT3LNwhPlrvlOSnxQRjdQmnToj7oaNH55s/W1V5/cw+VqYnLxdEf8G3FH8jfaWTvQD2/C1T42VWTKtIoYSgN"
    "uDIcZDDtoh0jdigc/nixv6LN88CIf2BDhiXc565Dkc70tL9jaLe6tOjN+6PVYVdQnUhuUi0xvyjyZLube3sW+zhu"
    "AtXMGGKRAAAAAAAAAAAAAAACAAAABXdlYiA3AAAACAAAAAR3ZWI3AAAAAHDb2IAAAAAAg6p+gAAAAAAAAAAAAAAA"
    "AAAAARcAAAAHc3NoLXJzYQAAAAMBAAEAAAEBAM3WcjyMLiIQdbLfaprtzDrZgqbhUkRmBK+g4iRuJeNRt7fEqpxu"
    "Zn4MJSrpekDpAKB4uByPbDk7fNCw8NlsL+BRImmIzhYCghdCG7yEejjFChC7HF01/uHpbKJ2dkJ6VIEO4IKLmyRe"
    "Y+KHlDwCcoG9PCdpNlvsSb+40zUQvW4agSY0A6TE5CPyAPDUJxI9G1Zv9wcz+sIvyHzlaZxOogHZfDSgcGtW/C9M"
    "HFL+szFkfPXyQwDfC3ZYu8bNCoWFrkQxmIMZzc4LB0XAN3X93G9HLi9Keg+qi2rw2amEwpI//uPbWAm5DkPYMbHm"
    "JxZq2HoY2ZJ5/c6yx1BIiFyVVlsAAAEUAAAADHJzYS1zaGEyLTUxMgAAAQBp7PqN9cPsCoYJSLYZq9wdaEsOaBNw"
    "VrMnM47RsJlE3+IeK9dgwfCQBX+UrmyHXTT6ZOln+4mFconmrPsxLB6K8IS7nOwfdw2KH84OEZEJqoAbluj7amJA"
    "RxIw0CJWn8WFcw8uGTwE5JHvxNZZ3Pj757FfMMoNbZ9eD5Z7Kcn2uALIKDZUfRXDihRPovw0u4uuTJ4zHh9ZjDh1"
    "cphM9LLuOr/HTzdTH3f34e1rfHRIcfWJ+RUPY2ANVzXpnu7+ELfVejrkz3EwZWkw32fo2PlBJO8J1D4mEq+vQ4OT"
    "1s7oT9wXB9NeSCnJhCgFu3nd1E06YuY1GIvyMBuYBUqcUQMS"};
const HostKey kRsaCa{
    "ssh-rsa",
    "AAAAB3NzaC1yc2EAAAADAQABAAABAQDN1nI8jC4iEHWy32qa7cw62YKm4VJEZgSvoOIkbiXjUbe3xKqcbmZ+DCUq"
    "6XpA6QCgeLgcj2w5O3zQsPDZbC/gUSJpiM4WAoIXQhu8hHo4xQoQuxxdNf7h6WyidnZCelSBDuCCi5skXmPih5Q8"
    "AnKBvTwnaTZb7Em/uNM1EL1uGoEmNAOkxOQj8gDw1CcSPRtWb/cHM/rCL8h85WmcTqIB2Xw0oHBrVvwvTBxS/rMx"
    "ZHz18kMA3wt2WLvGzQqFha5EMZiDGc3OCwdFwDd1/dxvRy4vSnoPqotq8NmphMKSP/7j21gJuQ5D2DGx5icWath6"
    "GNmSef3OssdQSIhclVZb"};
// ssh-keygen -I someone -n web7: of a user
const HostKey kUser{
    "ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "AAAAKGVjZHNhLXNoYTItbmlzdHAyNTYtY2VydC12MDFAb3BlbnNzaC5jb20AAAAg8ZQjP8KNV6LY4Du2HYj1ijp/"
    "C4T0xZhrQ7MaNGKH7vYAAAAIbmlzdHAyNTYAAABBBLhoQ+UI4QmSF3dPB5AlwmufbW99ygua5w0oxXjQXP+nU8L+"
    "SJYQL5f2sRBp/L1uldVNXgKnrz+yC+zFQbpmDgIAAAAAAAAAAAAAAAEAAAAHc29tZW9uZQAAAAgAAAAEd2ViNwAA"
    "AABw29iAAAAAAIOqfoAAAAAAAAAAggAAABVwZXJtaXQtWDExLWZvcndhcmRpbmcAAAAAAAAAF3Blcm1pdC1hZ2Vu"
    "dC1mb3J3YXJkaW5nAAAAAAAAABZwZXJtaXQtcG9ydC1mb3J3YXJkaW5nAAAAAAAAAApwZXJtaXQtcHR5AAAAAAAA"
    "AA5wZXJtaXQtdXNlci1yYwAAAAAAAAAAAAAAMwAAAAtzc2gtZWQyNTUxOQAAACA1fbHKqi4dzMynm1kEm5mGQww3"
    "SqASozRjQULQj1nP6gAAAFMAAAALc3NoLWVkMjU1MTkAAABAMkF+JJ1Wc5r0Qky27IR37un2pdBJfQeTtuhdM1Li"
    "/I15Nyjq5mKYGoAlXPqoXh91INgPr4viBmQb10qeGIHoAw=="};

constexpr std::uint64_t kFrom = 1'893'456'000;  // 2030-01-01
constexpr std::uint64_t kUntil = 2'208'988'800;

HostCertificate parsed(const HostKey& shown) {
  const auto certificate = parse_host_certificate(shown);
  REQUIRE(certificate);
  return *certificate;
}

KnownHosts known(const std::string& mark, const HostKey& key) {
  KnownHosts hosts;
  hosts.add(mark + key.type + " " + key.base64 + "\n", "known_hosts");
  return hosts;
}

}  // namespace

TEST_CASE("the fields of a certificate") {
  const HostCertificate certificate = parsed(kEd);
  CHECK(certificate.key == kEdPlain);
  CHECK(certificate.authority == kEdCa);
  CHECK(certificate.id == "web 7");
  CHECK(certificate.for_host);
  CHECK(certificate.principals == std::vector<std::string>{"web7", "*.cluster"});
  CHECK(certificate.valid_after == kFrom);
  CHECK(certificate.valid_before == kUntil);
  CHECK_FALSE(certificate.has_critical_options);
  CHECK(parsed(kEc).authority == kEcCa);
  CHECK(parsed(kRsa).authority == kRsaCa);
  CHECK_FALSE(parse_host_certificate(kEdCa));
  CHECK_FALSE(parse_host_certificate({kEd.type, kEdCa.base64}));
  CHECK_FALSE(parse_host_certificate({kEc.type, kEd.base64}));
}

TEST_CASE("a certificate stands for its names, while it is valid, if its signature holds") {
  for (const HostKey* shown : {&kEd, &kEc, &kRsa})
    CHECK(certificate_problem(parsed(*shown), "web7", kFrom).empty());
  const HostCertificate certificate = parsed(kEd);
  CHECK(certificate_problem(certificate, "a.cluster", kUntil - 1).empty());
  CHECK(certificate_problem(certificate, "web8", kFrom) ==
        "it is for web7, *.cluster, not for web8");
  CHECK(certificate_problem(certificate, "web7", kFrom - 1) ==
        "it is not valid before 2030-01-01 00:00 UTC");
  CHECK(certificate_problem(certificate, "web7", kUntil) ==
        "it was valid until 2040-01-01 00:00 UTC");
  CHECK(certificate_problem(parsed(kUser), "web7", kFrom) ==
        "it is a certificate of a user, not of a host");
  HostCertificate other = certificate;
  other.has_critical_options = true;
  CHECK(certificate_problem(other, "web7", kFrom) == "it has critical options, and none are known");
  other = certificate;
  other.signature = parsed(kEc).signature;
  CHECK(certificate_problem(other, "web7", kFrom) == "its signature does not hold");
  other = certificate;
  other.authority = kEcCa;
  CHECK(certificate_problem(other, "web7", kFrom) == "its signature does not hold");
}

TEST_CASE("known_hosts: authorities by name, and what is revoked") {
  const HostCertificate certificate = parsed(kEd);
  const KnownHosts hosts = known("@cert-authority web*,[web7]:2222 ", kEdCa);
  CHECK(hosts.types("web7", 22).empty());
  CHECK(hosts.check("web7", 22, kEdCa).kind == Kind::unknown);  // the authority is no host
  CHECK(hosts.authorities("web7", 22).size() == 1);
  CHECK(hosts.authorities("web7", 2222).size() == 1);
  CHECK(hosts.authorities("node", 22).empty());
  CHECK(hosts.check_certificate("web7", 22, certificate, kFrom).kind == Kind::match);
  CHECK(hosts.check_certificate("web7", 2222, certificate, kFrom).kind == Kind::match);
  const HostKeyVerdict late = hosts.check_certificate("web7", 22, certificate, kUntil);
  CHECK(late.kind == Kind::unknown);
  CHECK(late.certificate_problem ==
        "its certificate web 7 is refused: it was valid until 2040-01-01 00:00 UTC");
  CHECK(known("@cert-authority * ", kEcCa)
            .check_certificate("web7", 22, certificate, kFrom)
            .certificate_problem.starts_with("its certificate web 7 is of another authority"));
  CHECK(known("web7 ", kEdPlain).check_certificate("web7", 22, certificate, kUntil).kind ==
        Kind::match);
  for (const HostKey* key : {&kEdCa, &kEdPlain}) {
    KnownHosts revoked = known("@cert-authority * ", kEdCa);
    revoked.add("@revoked * " + key->type + " " + key->base64, "more");
    CHECK(revoked.check_certificate("web7", 22, certificate, kFrom).kind == Kind::revoked);
    // An authority of the plain name counts for other ports too, and so does what revokes it, even
    // if another key is filed under the port.
    revoked.add("[web7]:2222 " + kEcCa.type + " " + kEcCa.base64, "port");
    revoked.add("[web7]:2222 ssh-ed25519 " + parsed(kUser).authority.base64, "port");
    CHECK(revoked.check_certificate("web7", 2222, certificate, kFrom).kind == Kind::revoked);
  }
}

TEST_CASE("a revoked certificate revokes its key") {
  KnownHosts hosts = known("web7 ", kEdPlain);
  CHECK(hosts.check("web7", 22, kEdPlain).kind == Kind::match);
  hosts.add("@revoked * " + kEd.type + " " + kEd.base64, "more");
  CHECK(hosts.check("web7", 22, kEdPlain).kind == Kind::revoked);
  KnownHosts list = known("web7 ", kEdPlain);
  list.add_revoked(kEd.type + " " + kEd.base64 + "\n", "revoked");
  CHECK(list.check("web7", 22, kEdPlain).kind == Kind::revoked);
  CHECK(list.check("web7", 22, kEcCa).kind == Kind::other_type);
}

TEST_CASE("a list of revoked keys that cannot be understood or read takes no key") {
  const std::string good = "# a remark\n\n" + kEcCa.type + " " + kEcCa.base64 + " comment\n";
  KnownHosts hosts = known("web7 ", kEdPlain);
  hosts.add_revoked(good, "revoked");
  CHECK(hosts.check("web7", 22, kEdPlain).kind == Kind::match);
  for (const std::string& bad :
       {good + "web7 " + kEdPlain.type + " " + kEdPlain.base64, good + "ssh-ed25519 AAAA",
        good + "ssh-ed25519 " + kEcCa.base64, good + kEdPlain.base64}) {
    KnownHosts none = known("web7 ", kEdPlain);
    none.add_revoked(bad, "revoked");
    CHECK(none.check("web7", 22, kEdPlain).kind == Kind::revoked);
  }
  KnownHosts unread = known("web7 ", kEdPlain);
  unread.add_revoked(read_text_file("/"), "/");
  CHECK(unread.check("web7", 22, kEdPlain).kind == Kind::revoked);
}

TEST_CASE("HostKeyAlgorithms with certificates alone takes no plain key") {
  CHECK(takes_plain_key("", "ssh-ed25519"));
  CHECK(takes_plain_key("", "ssh-rsa"));
  CHECK_FALSE(takes_plain_key("ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519"));
  CHECK_FALSE(takes_plain_key("-ssh-ed25519", "ssh-ed25519"));
  CHECK(takes_plain_key("-ssh-ed25519", "ecdsa-sha2-nistp256"));
}

TEST_CASE("HostKeyAlgorithms decides which certificates are asked for") {
  CHECK(certificate_algorithms("").starts_with(
      "ssh-ed25519-cert-v01@openssh.com,ecdsa-sha2-nistp256-cert-v01@"));
  CHECK(certificate_algorithms("ssh-ed25519-cert-v01@openssh.com,ssh-ed25519") ==
        "ssh-ed25519-cert-v01@openssh.com");
  CHECK(certificate_algorithms("ssh-ed25519").empty());
  CHECK(host_key_algorithms({}, "").find("-cert-") == std::string::npos);
}

TEST_CASE(
    "the key of a certificate is offered first, also if HostKeyAlgorithms names no plain key") {
  CHECK(host_key_algorithms({"ecdsa-sha2-nistp256"}, "", "ssh-rsa")
            .starts_with("rsa-sha2-512,rsa-sha2-256,ecdsa-sha2-nistp256,ssh-ed25519,"));
  CHECK(host_key_algorithms({}, "ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519") ==
        "ssh-ed25519");
  CHECK(host_key_algorithms({}, "ssh-ed25519-cert-v01@openssh.com").empty());
}

TEST_CASE("no damage to a certificate goes unseen") {
  for (const HostKey* shown : {&kEd, &kEc, &kRsa}) {
    const std::string good = *base64_decode(shown->base64);
    ds::test::Mutator mutator({good}, 7);
    for (int i = 0; i < 3000; ++i) {
      const std::string bad = mutator.next();
      if (bad == good) continue;
      const auto certificate = parse_host_certificate({shown->type, base64_encode(bad)});
      if (!certificate || certificate->authority != parsed(*shown).authority) continue;
      CHECK_FALSE(certificate_problem(*certificate, "web7", kFrom).empty());
    }
  }
}
