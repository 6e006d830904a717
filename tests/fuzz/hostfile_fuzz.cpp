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
#include "launcher/hosts/host_selection.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"
#include "support/place_ranks.h"

using namespace ds::launcher;

namespace {

std::string written(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    const bool is_v6 = host.name.find(':') != std::string::npos;
    text += fmt::format("{}{}{}", is_v6 ? "[" : "", host.name, is_v6 ? "]" : "");
    if (!host.bare)
      text += host.slots == kAutoSlots ? " slots=auto" : fmt::format(" slots={}", host.slots);
    if (host.max_slots != 0) text += fmt::format(" max-slots={}", host.max_slots);
    if (!host.devices.empty()) text += fmt::format(" gpus={}", fmt::join(host.devices, ","));
    if (!host.address.empty()) text += " addr=" + host.address;
    if (host.port != 0) text += fmt::format(" port={}", host.port);
    if (!host.user.empty()) text += fmt::format(" user={}", host.user);
    text += '\n';
    const std::string line = text.substr(text.rfind('\n', text.size() - 2) + 1);
    for (int more = 1; host.bare && more < host.slots; ++more) text += line;
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
    DS_ASSERT((host.slots >= 1 && host.slots <= kMaxSlots) || host.slots == kAutoSlots);
    DS_ASSERT(host.devices.empty() || host.slots <= static_cast<int>(host.devices.size()));
    DS_ASSERT(host.max_slots == 0 || host.max_slots >= std::max(host.slots, 1) || host.bare);
    DS_ASSERT(is_printable(host.address));
    DS_ASSERT(host.port >= 0 && host.port <= 65535);
    DS_ASSERT(host.place.line >= 1 && host.place.column >= 1);
    DS_ASSERT(seen.emplace(host.name, host.port).second, "a host comes out once");
  }
  const std::string once = written(hosts);
  DS_ASSERT(written(parse_hostfile(once, "again")) == once,
            "what was read can be written and read");
}

/// Any bytes as the value of --host and --include too.
void check_picks(std::string_view text, const std::vector<Host>& hosts) {
  try {
    HostSelection selection;
    selection.picks = parse_host_picks("hosts", text);
    selection.include = parse_slot_picks("hosts", text);
    select_slots(select_hosts(hosts, selection), selection);
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::usage || error.kind() == ds::ErrorKind::config);
    DS_ASSERT(std::string(error.what()).size() < 4096);
  }
}

void check_error(const ds::Error& error) {
  const std::string message = error.what();
  DS_ASSERT(error.kind() == ds::ErrorKind::config);
  DS_ASSERT(message.starts_with("hosts") || message.starts_with("again"));
  DS_ASSERT(message.size() < 2048, "a long line is cut");
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    DS_ASSERT(byte >= 0x20 || c == '\n' || c == '\t', "no control bytes reach the terminal");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Every include leads to the same text: "again" is a file of its own, whatever its name.
  const IncludeReader include = [&](const std::string& path, const std::string&) {
    return IncludedText{"again", path, std::string(text)};
  };
  try {
    std::vector<Host> hosts = parse_hostfile(text, "hosts", include, "hosts");
    check_hosts(hosts);
    for (Host& host : hosts) host.slots = std::max(host.slots, 1);
    if (hosts.size() < 64) DS_ASSERT(place_ranks(hosts, 1, 0).world_size() == 1);
  } catch (const ds::Error& error) {
    check_error(error);
  }
  static const std::vector<Host> known = parse_hostfile("a slots=4\nb gpus=1,3", "hosts");
  check_picks(text, known);
  return 0;
}
