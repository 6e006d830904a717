// Spares: takes the last hosts of the list and checks their slots.
#include "launcher/hosts/spares.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace ds::launcher {

std::vector<Host> take_spares(std::vector<Host>& hosts, int count) {
  const auto wanted = static_cast<std::size_t>(count);
  if (wanted == 0) return {};
  if (wanted >= hosts.size())
    throw Error(
        ErrorKind::config,
        fmt::format("--spares {} leaves no host for the job ({} given)", wanted, hosts.size()),
        "give more hosts or fewer spares");
  std::vector<Host> spares(hosts.end() - count, hosts.end());
  hosts.resize(hosts.size() - wanted);
  return spares;
}

void check_spares(const Placement& placement, const std::vector<Host>& spares) {
  std::size_t least = SIZE_MAX;
  for (const Node& node : placement.nodes)
    least = std::min({least, node.ranks.size(), static_cast<std::size_t>(node.host.slots)});
  for (const Host& spare : spares) {
    if (static_cast<std::size_t>(spare.slots) >= least) continue;
    throw Error(
        ErrorKind::config,
        fmt::format("the spare host {} has {} slot{}, but every node of the job has at least {} "
                    "ranks",
                    spare.name, spare.slots, spare.slots == 1 ? "" : "s", least),
        "--spares takes the last hosts: put hosts with enough slots there");
  }
}

}  // namespace ds::launcher
