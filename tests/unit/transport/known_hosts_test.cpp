// Tests known_hosts: every form of a line, and the decisions that follow from it.
#include "launcher/transport/host_keys/known_hosts.h"

#include <doctest/doctest.h>

#include "launcher/transport/host_keys/host_key_policy.h"

using namespace ds::launcher;
using Kind = HostKeyVerdict::Kind;

namespace {

// Made with ssh-keygen; the hashed lines with `ssh-keygen -H`.
const HostKey kOne{"ssh-ed25519",
                   "AAAAC3NzaC1lZDI1NTE5AAAAINmTc4dgUsgoN17yzQV20roOcSiHkeoQmAPkIWi5Up6q"};
const HostKey kTwo{"ssh-ed25519",
                   "AAAAC3NzaC1lZDI1NTE5AAAAILEm5yqdlPpF2ezUPtvTkdsiaBtcXQ8UDmexnyoW5XoH"};
const HostKey kRsa{"ssh-rsa", "AAAAB3NzaC1yc2EAAAADAQAB"};
constexpr const char* kHashed = R"(
|1|jGiO03w6WgrtN7FUj8D8/mIPJ4I=|jr89TQBEvM61IbNr2AljslrXuLM= ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINmTc4dgUsgoN17yzQV20roOcSiHkeoQmAPkIWi5Up6q
|1|cOx2MG158nZfGsfSNSKQFVgRgNg=|USmRQXSdaUI81Zc5s5D8Byt0W1s= ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILEm5yqdlPpF2ezUPtvTkdsiaBtcXQ8UDmexnyoW5XoH
)";

std::string line(const std::string& names, const HostKey& key) {
  return names + " " + key.type + " " + key.base64 + "\n";
}

KnownHosts known(const std::string& text) {
  KnownHosts hosts;
  hosts.add(text, "known_hosts");
  return hosts;
}

Kind kind(const std::string& text, const char* host, int port, const HostKey& key) {
  return known(text).check(host, port, key).kind;
}

}  // namespace

TEST_CASE("the fingerprint is the one ssh-keygen -l prints") {
  CHECK(fingerprint(kOne) == "SHA256:TEnc2K5gDzkTzgqQHoalRTImAq7Ce0vBIXWCabZgpzg");
  CHECK(fingerprint({"ssh-ed25519", "not base64!"}).empty());
}

TEST_CASE("plain names, lists, patterns and ports") {
  struct Row {
    const char* names;
    const char* host;
    int port;
    Kind expected;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"node01", "node01", 22, Kind::match},
           {"NODE01", "node01", 22, Kind::match},
           {"node01", "Node01", 22, Kind::match},
           {"node01", "node02", 22, Kind::unknown},
           {"a,node01,192.0.2.1", "192.0.2.1", 22, Kind::match},
           {"node*", "node77", 22, Kind::match},
           {"node?", "node77", 22, Kind::unknown},
           {"node*,!node7", "node7", 22, Kind::unknown},
           {"!node7,node*", "node8", 22, Kind::match},
           {"[node01]:2222", "node01", 2222, Kind::match},
           {"[node01]:2222", "node01", 22, Kind::unknown},
           {"[node01]:2222", "node01", 2223, Kind::unknown},
           {"[node*]:2222", "node9", 2222, Kind::match},
           {"node01", "node01", 2222, Kind::match},  // as ssh: a key without port counts
           {"[2001:db8::1]:2222", "2001:DB8::1", 2222, Kind::match}}) {
    INFO(row.names << " / " << row.host << " " << row.port);
    CHECK(kind(line(row.names, kOne), row.host, row.port, kOne) == row.expected);
  }
}

TEST_CASE("hashed names made by ssh-keygen -H are found") {
  CHECK(kind(kHashed, "node01", 22, kOne) == Kind::match);
  CHECK(kind(kHashed, "node01", 22, kTwo) == Kind::changed);
  CHECK(kind(kHashed, "node02.example", 2222, kTwo) == Kind::match);
  CHECK(kind(kHashed, "node02.example", 22, kTwo) == Kind::unknown);
  CHECK(known(kHashed).types("node01", 22) == std::vector<std::string>{"ssh-ed25519"});
}

TEST_CASE("a line with a hashed name made here is found again") {
  const std::string salt(20, 's');
  const std::string text = known_hosts_line("Node05", 2200, kOne, salt);
  CHECK(text.starts_with("|1|"));
  CHECK(kind(text, "node05", 2200, kOne) == Kind::match);
  CHECK(known_hosts_line("Node05", 22, kOne) == line("node05", kOne));
}

TEST_CASE(
    "a changed key names the place of the old one; other types and a second key are told apart") {
  const auto changed = known("# comment\n\n" + line("node01", kOne)).check("node01", 22, kTwo);
  CHECK(changed.kind == Kind::changed);
  REQUIRE(changed.places.size() == 1);
  CHECK(changed.places[0].line == 3);
  CHECK(kind(line("node01", kRsa), "node01", 22, kOne) == Kind::other_type);
  CHECK(kind(line("node01", kOne) + line("node01", kTwo), "node01", 22, kTwo) == Kind::match);
}

TEST_CASE("a changed key for the plain name does not make [host]:port changed") {
  CHECK(kind(line("node01", kOne), "node01", 2222, kTwo) == Kind::unknown);
}

TEST_CASE("@revoked refuses the key even if it is also known") {
  CHECK(kind(line("node01", kOne) + "@revoked " + line("*", kOne), "node01", 22, kOne) ==
        Kind::revoked);
  CHECK(kind("@revoked " + line("node01", kTwo) + line("node01", kOne), "node01", 22, kOne) ==
        Kind::match);
}

TEST_CASE("broken lines are skipped, and never crash") {
  for (const char* text : {"node01", "node01 ssh-ed25519", "node01 ssh-ed25519 %%%%",
                           "|1|x ssh-ed25519 AAAA", "|1|AAAA|AAAA ssh-ed25519 AAAA",
                           "|1||  ssh-ed25519 AAAA", "@new node01 ssh-ed25519 AAAA"}) {
    INFO(text);
    const KnownHosts hosts = known(text);
    CHECK(hosts.check("node01", 22, kOne).kind == Kind::unknown);
  }
}

TEST_CASE("algorithms offered: known types first, cheapest first, RSA only with SHA-2") {
  CHECK(host_key_algorithms({"ssh-rsa"}).starts_with("rsa-sha2-512,rsa-sha2-256,ssh-ed25519"));
  CHECK(host_key_algorithms({"ssh-rsa", "ssh-ed25519"}).starts_with("ssh-ed25519,rsa-sha2-512"));
  CHECK(host_key_algorithms({}).starts_with("ssh-ed25519,ecdsa-sha2-nistp256"));
  CHECK(host_key_algorithms({}).find("ssh-rsa") == std::string::npos);
}

TEST_CASE("what follows from a verdict") {
  SshSettings settings;
  settings.alias = "n1";
  settings.host_name = "node01";
  settings.port = 2222;
  settings.known_hosts_files = {"/home/u/.ssh/known_hosts"};
  const HostKeyVerdict unknown{Kind::unknown, {}};
  const HostKeyVerdict changed{Kind::changed, {{"/home/u/.ssh/known_hosts", 7, 1}}};

  const auto strict = judge_host_key(settings, kOne, unknown);
  CHECK_FALSE(strict.accept);
  CHECK(strict.text.find("SHA256:TEnc2K5gDzkTzgqQHoalRTImAq7Ce0vBIXWCabZgpzg is unknown") !=
        std::string::npos);
  CHECK(strict.text.find("`ssh-keyscan -p 2222 node01 >> /home/u/.ssh/known_hosts`") !=
        std::string::npos);
  settings.known_hosts_files = {"/dev/null"};
  const auto nowhere = judge_host_key(settings, kOne, unknown);
  CHECK(
      nowhere.text.ends_with("is unknown; known_hosts is /dev/null, which keeps no keys; name a "
                             "file with --known-hosts or UserKnownHostsFile"));

  settings.host_key_checking = HostKeyChecking::accept_new;
  CHECK(judge_host_key(settings, kOne, unknown).accept);
  CHECK(judge_host_key(settings, kOne, unknown).remember);
  CHECK_FALSE(judge_host_key(settings, kOne, {Kind::other_type, {}}).accept);

  settings.host_key_checking = HostKeyChecking::accept_any;
  CHECK(judge_host_key(settings, kOne, unknown).accept);
  CHECK_FALSE(judge_host_key(settings, kOne, unknown).remember);
  CHECK(judge_host_key(settings, kOne, unknown).warning.one.find("without a check") !=
        std::string::npos);
  const auto refused = judge_host_key(settings, kOne, changed);  // even then
  CHECK_FALSE(refused.accept);
  CHECK(refused.text.find("HOST KEY CHANGED") == 0);
  CHECK(refused.text.find("/home/u/.ssh/known_hosts:7") != std::string::npos);
  CHECK(refused.text.find("ssh-keygen -f '/home/u/.ssh/known_hosts' -R '[node01]:2222'") != std::string::npos);
  CHECK_FALSE(judge_host_key(settings, kOne, {Kind::revoked, {}}).accept);

  // ssh files an alias without a port, and so a key of the port alone would not be the host's.
  CHECK(host_key_port(settings) == 2222);
  settings.host_key_alias = "farm";
  CHECK(host_key_port(settings) == 22);
  CHECK(judge_host_key(settings, kOne, changed).text.find("-R 'farm'`") !=
        std::string::npos);
}
