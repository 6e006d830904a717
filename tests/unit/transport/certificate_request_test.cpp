// Tests CertificateRequest against servers of a few lines: greeting, lists, the key, failures.
#include "launcher/transport/host_keys/host_certificate.h"

#include <doctest/doctest.h>

#include "launcher/transport/host_keys/wire_reader.h"

using namespace ds::launcher;

namespace {

constexpr const char* kWanted =
    "ssh-ed25519-cert-v01@openssh.com,rsa-sha2-512-cert-v01@openssh.com";

std::string packet_of(const std::string& payload) {
  return wire_string(std::string(1, 4) + payload + std::string(4, 'p'));
}

std::string lists(const std::string& key_exchanges, const std::string& host_keys) {
  return packet_of('\x14' + std::string(16, 'c') + wire_string(key_exchanges) +
                   wire_string(host_keys) + std::string(37, '\0'));
}

const std::string kBlob = wire_string("ssh-ed25519-cert-v01@openssh.com") + "the rest";
const std::string kReply = packet_of('\x1f' + wire_string(kBlob) + wire_string("Q"));
const std::string kGreeting = "Unauthorized use is prohibited\r\nSSH-2.0-OpenSSH_9.2\r\n";

}  // namespace

TEST_CASE("the client greets, and its lists fill whole blocks") {
  CertificateRequest request(kWanted);
  const std::string greeting = request.greeting();
  const std::size_t end = greeting.find("\r\n");
  CHECK(greeting.starts_with("SSH-2.0-"));
  CHECK((greeting.size() - end - 2) % 8 == 0);
  WireReader reader(std::string_view(greeting).substr(end + 2));
  CHECK(reader.number(4) == greeting.size() - end - 2 - 4);
  CHECK(reader.number(1) >= 4);  // padding
  CHECK(reader.number(1) == 20);
  CHECK(greeting.find(kWanted) != std::string::npos);
}

TEST_CASE("the certificate comes back, however the bytes are cut") {
  for (const std::size_t cut : {1, 7, 1000}) {
    CertificateRequest request(kWanted);
    const std::string server = kGreeting +
                               lists("x,ecdh-sha2-nistp256", std::string("y,") + kWanted) +
                               packet_of("\x02ignored") + kReply;
    std::string sent;
    for (std::size_t at = 0; at < server.size(); at += cut)
      sent += request.take(server.substr(at, cut));
    CHECK(request.done());
    CHECK(request.problem().empty());
    REQUIRE(request.certificate());
    CHECK(*request.certificate() ==
          HostKey{"ssh-ed25519-cert-v01@openssh.com", base64_encode(kBlob)});
    WireReader reader(sent);
    CHECK(reader.number(4) == sent.size() - 4);
    reader.number(1);
    CHECK(reader.number(1) == 30);
    CHECK(reader.string().size() == 65);  // a point of P-256, not compressed
  }
}

TEST_CASE("a server without such a certificate is not asked for its key") {
  CertificateRequest request(kWanted);
  CHECK(request.take(kGreeting + lists("curve25519-sha256", "ssh-ed25519")).empty());
  CHECK(request.done());
  CHECK(request.problem().empty());
  CHECK_FALSE(request.certificate());
}

TEST_CASE("what makes the answer unusable is named") {
  const auto problem = [](const std::string& server) {
    CertificateRequest request(kWanted);
    request.take(server);
    CHECK(request.done());
    CHECK_FALSE(request.certificate());
    return request.problem();
  };
  CHECK(problem(std::string(70'000, 'x')) == "it does not speak SSH");
  CHECK(problem(kGreeting + std::string(8, '\xff')) == "it sent a packet that is not of SSH");
  CHECK(problem(kGreeting + lists("sntrup761x25519-sha512", kWanted)) ==
        "it has no key exchange in common with this program");
  CHECK(problem(kGreeting + packet_of('\x01' + std::string(4, '\0') + wire_string("Too many"))) ==
        "the server says: Too many");
  CHECK(problem(kGreeting + packet_of("\x15")) == "it sent an unexpected message");
}
