// Any bytes as a hostfile: hosts that keep their promises and read back the same, or an error with
// a place.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "engine/base/error.h"
#include "launcher/hosts/host_line.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"

using namespace ds::launcher;

namespace {

std::string written(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    const bool is_v6 = host.name.find(':') != std::string::npos;
    text +=
        fmt::format("{}{}{} slots={}", is_v6 ? "[" : "", host.name, is_v6 ? "]" : "", host.slots);
    if (host.port != 0) text += fmt::format(" port={}", host.port);
    if (!host.user.empty()) text += fmt::format(" user={}", host.user);
    text += '\n';
  }
  return text;
}

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

void check_hosts(const std::vector<Host>& hosts) {
  DS_ASSERT(!hosts.empty() && hosts.size() <= kMaxHosts);
  std::set<std::pair<std::string, int>> seen;
  for (const Host& host : hosts) {
    DS_ASSERT(!host.name.empty() && is_printable(host.name) && host.name.front() != '-');
    DS_ASSERT(is_printable(host.user));
    DS_ASSERT(host.slots >= 1 && host.slots <= kMaxSlots);
    DS_ASSERT(host.port >= 0 && host.port <= 65535);
    DS_ASSERT(host.place.line >= 1 && host.place.column >= 1);
    DS_ASSERT(seen.emplace(host.name, host.port).second, "a host comes out once");
  }
  const std::string once = written(hosts);
  DS_ASSERT(written(parse_hostfile(once, "again")) == once,
            "what was read can be written and read");
}

void check_error(const ds::Error& error) {
  const std::string message = error.what();
  DS_ASSERT(error.kind() == ds::ErrorKind::config);
  DS_ASSERT(message.starts_with("hosts:"));
  DS_ASSERT(message.size() < 1024, "a long line is cut");
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    DS_ASSERT(byte >= 0x20 || c == '\n' || c == '\t', "no control bytes reach the terminal");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::vector<Host> hosts =
        parse_hostfile({reinterpret_cast<const char*>(data), size}, "hosts");
    check_hosts(hosts);
    if (hosts.size() < 64) DS_ASSERT(place_ranks(hosts, 1, 0).world_size() == 1);
  } catch (const ds::Error& error) {
    check_error(error);
  }
  return 0;
}
