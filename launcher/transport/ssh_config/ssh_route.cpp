// Resolves ProxyJump through the configuration.
#include "launcher/transport/ssh_config/ssh_route.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kMostJumps = 16;

bool same_place(const SshSettings& a, const SshSettings& b) {
  return a.host_name == b.host_name && a.port == b.port && a.user == b.user;
}

}  // namespace

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
