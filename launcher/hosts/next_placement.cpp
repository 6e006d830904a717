// Chooses the hosts of the next epoch in order, and lets place_groups number everything anew.
#include "launcher/hosts/next_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

/// Returns the number of ranks of each host, in ascending order.
std::vector<int> ranks_by_host(const std::vector<Host>& hosts, const PlacementRequest& request) {
  std::vector<int> ranks;
  for (const Node& node : place_groups(hosts, request, 0).nodes)
    ranks.push_back(static_cast<int>(node.ranks.size()));
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace

std::optional<NextPlacement> next_placement(const Placement& last,
                                            const std::vector<LiveHost>& live,
                                            const PlacementRequest& request, NodeRange range) {
  std::vector<int> order(live.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int index) {
    const int node = live[static_cast<std::size_t>(index)].node;
    return node < 0 ? static_cast<int>(last.nodes.size()) : node;
  };
  std::ranges::stable_sort(order, {}, key);
  order.resize(std::min(order.size(), static_cast<std::size_t>(range.most)));
  if (static_cast<int>(order.size()) < range.least) return std::nullopt;
  std::vector<Host> hosts;
  for (const int index : order) hosts.push_back(live[static_cast<std::size_t>(index)].host);
  NextPlacement next{.placement = place_groups(hosts, request, last.epoch + 1),
                     .chosen = std::move(order)};
  next.placement.first_epoch = last.first_epoch;
  DS_ASSERT(next.placement.nodes.size() == next.chosen.size());
  return next;
}

RankRange elastic_ranks(const std::vector<Host>& hosts, const PlacementRequest& request,
                        NodeRange range) {
  std::vector<int> ranks = ranks_by_host(hosts, request);
  if (static_cast<int>(ranks.size()) < range.most)
    ranks.resize(static_cast<std::size_t>(range.most), ranks.back());
  const auto least = ranks.begin() + std::min<std::ptrdiff_t>(range.least, std::ssize(ranks));
  return {.least = std::accumulate(ranks.begin(), least, 0),
          .most = std::accumulate(ranks.end() - range.most, ranks.end(), 0)};
}

Placement widest_placement(std::vector<Host> hosts, const PlacementRequest& request,
                           NodeRange range, std::uint64_t epoch) {
  const auto more = [&](const Host& host) { return place_groups({host}, request, 0).world_size(); };
  std::ranges::stable_sort(hosts, std::greater<>(), more);
  Host widest = hosts.front();
  hosts.resize(std::min(hosts.size(), static_cast<std::size_t>(range.most)));
  while (static_cast<int>(hosts.size()) < range.most) {
    widest.name = fmt::format("node-{}", hosts.size());
    hosts.push_back(widest);
  }
  return place_groups(hosts, request, epoch);
}

}  // namespace ds::launcher
