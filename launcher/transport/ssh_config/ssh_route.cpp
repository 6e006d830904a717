// Parses ProxyJump, and resolves it through the configuration.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "launcher/transport/ssh_config/ssh_config_parts.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kMostJumps = 16;

bool same_place(const SshSettings& a, const SshSettings& b) {
  return a.host_name == b.host_name && a.port == b.port && a.user == b.user;
}

Host parse_jump_host(std::string_view text, const TextPlace& place) {
  const std::string shown(text);
  const auto bad = [&](const char* why) {
    config_error(place, fmt::format("ProxyJump '{}': {}", shown, why),
                 "[user@]host[:port], several separated by commas");
  };
  if (text.starts_with("ssh://")) text.remove_prefix(6);
  Host host;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    host.user = text.substr(0, at);
    if (host.user.empty() || host.user.starts_with('-')) bad("not a user name");
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) bad("']' is missing");
    host.name = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    host.name = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (host.name.empty() || host.name.starts_with('-')) bad("not a host name");
  if (!port.empty()) {
    const auto number = port.front() == ':' ? ssh_number(port.substr(1)) : std::nullopt;
    if (!number || *number < 1 || *number > 65535) bad("the port is not a number from 1 to 65535");
    host.port = static_cast<int>(*number);
  }
  host.place = place;
  return host;
}

}  // namespace

std::vector<Host> parse_jump_hosts(std::string_view text, const TextPlace& place) {
  std::vector<Host> hosts;
  for (const std::string_view host : split(text, ','))
    hosts.push_back(parse_jump_host(host, place));
  return hosts;
}

SshRoute plan_route(const SshConfig& config, const Host& host, const LocalUser& local) {
  SshRoute route;
  route.target = config.resolve(host, local);
  std::vector<Host> ahead = route.target.jumps;  // jump hosts of the first hop found so far
  SshSettings* first = &route.target;
  while (!ahead.empty()) {
    std::vector<SshSettings> hops;
    for (const Host& jump : ahead) hops.push_back(config.resolve(jump, local));
    if (hops.size() == 1 && same_place(hops.front(), *first)) {
      first->jumps.clear();
      break;
    }
    // Only the first one may have jump hosts of its own; the others are reached through their
    // predecessor.
    for (std::size_t i = 1; i < hops.size(); ++i) {
      hops[i].jumps.clear();
      hops[i].proxy_command.clear();
    }
    if (hops.size() + route.jumps.size() > kMostJumps)
      throw Error(ErrorKind::config,
                  fmt::format("{}: more than {} jump hosts in a row, or jumps in a circle: {}",
                              host.name, kMostJumps, hops.front().alias));
    route.jumps.insert(route.jumps.begin(), std::make_move_iterator(hops.begin()),
                       std::make_move_iterator(hops.end()));
    first = &route.jumps.front();
    ahead = first->jumps;
  }
  return route;
}

std::string route_key(std::span<const SshSettings> jumps) {
  std::string key;
  for (std::size_t i = 0; i < jumps.size(); ++i)
    key += fmt::format("{}@[{}]:{} {} {}\n", jumps[i].user, jumps[i].host_name, jumps[i].port,
                       jumps[i].host_key_alias, i == 0 ? jumps[i].proxy_command : "");
  return key;
}

}  // namespace ds::launcher
