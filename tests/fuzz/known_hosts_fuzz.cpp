// Any bytes as a known_hosts file: a key that is written behind them is found again, and what is
// found has a place.
#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "launcher/transport/host_keys/host_key_policy.h"

using namespace ds::launcher;

namespace {

const HostKey kShown{"ssh-ed25519",
                     "AAAAC3NzaC1lZDI1NTE5AAAAIFsCH1ZS2FmNQnyMRw1Fe8LxyxAZvU0lbwmQyuCYo3Zd"};

void check_host(const KnownHosts& known, std::string_view host, int port, int lines) {
  const HostKeyVerdict verdict = known.check(host, port, kShown);
  const bool found = verdict.kind != HostKeyVerdict::Kind::unknown;
  DS_ASSERT(found == !verdict.places.empty(), "a verdict names its lines");
  for (const TextPlace& place : verdict.places) DS_ASSERT(place.line >= 1 && place.line <= lines);
  const std::vector<std::string> types = known.types(host, port);
  if (verdict.kind == HostKeyVerdict::Kind::match)
    DS_ASSERT(std::ranges::count(types, kShown.type) == 1, "a type comes once");
  DS_ASSERT(host_key_algorithms(types).find("ssh-ed25519") != std::string::npos);
}

void check_remembered(std::string_view text, std::string_view host, int port,
                      std::string_view salt) {
  KnownHosts known;
  known.add(text, "known_hosts");
  const auto before = known.check(host, port, kShown).kind;
  known.add(known_hosts_line(host, port, kShown, salt), "known_hosts");
  const auto after = known.check(host, port, kShown).kind;
  DS_ASSERT(after == HostKeyVerdict::Kind::match ||
                (after == HostKeyVerdict::Kind::revoked && before == after),
            "what was written down is known, unless it was revoked");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first word of the file is a host too.
  std::string first(text.substr(0, text.find_first_of(" \t\r\n,")));
  first = first.substr(0, 64);
  KnownHosts known;
  known.add(text, "known_hosts");
  const int lines = static_cast<int>(std::ranges::count(text, '\n')) + 1;
  for (const std::string& host : {std::string("node1"), std::string("10.0.0.7"), first}) {
    check_host(known, host, 22, lines);
    check_host(known, host, 2222, lines);
  }
  check_remembered(text, "node1", 22, {});
  check_remembered(text, "node1", 2222, "0123456789abcdefghij");
  return 0;
}
