// Properties of placements while nodes come and go, for many random histories.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "engine/base/error.h"
#include "launcher/hosts/next_placement.h"

using namespace ds::launcher;

namespace {

Host live_host(std::string name, int slots) {
  Host made;
  made.name = std::move(name);
  made.slots = slots;
  return made;
}

std::vector<std::string> live_names(const Placement& placement) {
  std::vector<std::string> names;
  for (const Node& node : placement.nodes) names.push_back(node.host.name);
  return names;
}

/// Every number exists once, and places agree with each other.
void check_numbers(const Placement& placement) {
  int ranks = 0;
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    const Node& node = placement.nodes[i];
    REQUIRE(node.node_rank == static_cast<int>(i));
    REQUIRE(!node.ranks.empty());
    for (std::size_t local = 0; local < node.ranks.size(); ++local) {
      const RankPlace& place = placement.ranks.at(static_cast<std::size_t>(node.ranks[local]));
      REQUIRE(place.node_rank == node.node_rank);
      REQUIRE(place.local_rank == static_cast<int>(local));
      REQUIRE(place.slot < node.host.slots);
    }
    ranks += static_cast<int>(node.ranks.size());
  }
  REQUIRE(ranks == placement.world_size());
  for (int rank = 0; rank < ranks; ++rank)
    REQUIRE(placement.ranks[static_cast<std::size_t>(rank)].rank == rank);
  REQUIRE(placement.groups.size() == 1);
  REQUIRE(placement.groups.front().ranks == ranks);
}

}  // namespace

TEST_CASE("random histories: survivors keep their order, joiners follow, numbers have no holes") {
  std::mt19937 random(24);
  const auto up_to = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  for (int history = 0; history < 300; ++history) {
    PlacementRequest request;
    const bool per_host = up_to(1) == 1;
    if (per_host) request.ranks_per_host = 1;
    request.by_node = up_to(3) == 0;
    const int least = 1 + up_to(3);
    const NodeRange range{least, least + up_to(4)};
    int next_name = 0;
    std::vector<LiveHost> live;
    const auto add = [&] { live.push_back({live_host(fmt::format("h{}", next_name++), 1 + up_to(3))}); };
    for (int i = up_to(8); i >= 0; --i) add();
    Placement last;
    last.epoch = 5;
    for (int epoch = 0; epoch < 6; ++epoch) {
      const auto next = next_placement(last, live, request, range);
      REQUIRE(next.has_value() == (std::ssize(live) >= range.least));
      if (next) {
        const Placement& now = next->placement;
        check_numbers(now);
        CHECK(now.epoch == last.epoch + 1);
        CHECK(std::ssize(now.nodes) == std::min<std::ptrdiff_t>(range.most, std::ssize(live)));
        // The chosen hosts are distinct, with survivors first and in their order.
        std::vector<int> before;
        std::set<int> distinct;
        for (std::size_t node = 0; node < now.nodes.size(); ++node) {
          const int index = next->chosen[node];
          const LiveHost& from = live.at(static_cast<std::size_t>(index));
          CHECK(from.host.name == now.nodes[node].host.name);
          CHECK(static_cast<int>(now.nodes[node].ranks.size()) ==
                (per_host ? 1 : from.host.slots));
          before.push_back(from.node < 0 ? static_cast<int>(last.nodes.size()) : from.node);
          distinct.insert(index);
        }
        CHECK(distinct.size() == next->chosen.size());
        CHECK(std::ranges::is_sorted(before));
        // No survivor is left out for a host that joins.
        const auto survivors = std::ranges::count_if(live, [](auto& l) { return l.node >= 0; });
        const auto kept = std::ranges::count_if(
            before, [&](int node) { return node < static_cast<int>(last.nodes.size()); });
        CHECK(kept == std::min<std::ptrdiff_t>(survivors, range.most));
        // The same input gives the same result.
        CHECK(live_names(next_placement(last, live, request, range)->placement) == live_names(now));
        for (LiveHost& each : live) each.node = -1;
        for (std::size_t node = 0; node < now.nodes.size(); ++node)
          live[static_cast<std::size_t>(next->chosen[node])].node = static_cast<int>(node);
        last = now;
      }
      for (int i = up_to(3); i > 0 && !live.empty(); --i)
        live.erase(live.begin() + up_to(static_cast<int>(live.size()) - 1));
      for (int i = up_to(3); i > 0; --i) add();
      std::ranges::shuffle(live, random);
    }
  }
}

TEST_CASE("a host that joins without room for --ppn is an error that names it") {
  PlacementRequest request;
  request.ranks_per_host = 2;
  const std::vector<LiveHost> live = {{live_host("a", 2), 0}, {live_host("b", 1)}};
  CHECK_THROWS_WITH_AS(next_placement({}, live, request, {1, 2}), doctest::Contains("b has 1 slot"),
                       ds::Error);
}

TEST_CASE("the smallest and the largest number of ranks") {
  const std::vector<Host> hosts = {live_host("a", 4), live_host("b", 2), live_host("c", 8)};
  CHECK(elastic_ranks(hosts, {}, {1, 3}) == RankRange{2, 14});
  CHECK(elastic_ranks(hosts, {}, {2, 2}) == RankRange{6, 12});
  CHECK(elastic_ranks(hosts, {}, {2, 5}) == RankRange{6, 30});  // unknown hosts as c
  PlacementRequest two;
  two.ranks_per_host = 2;
  CHECK(elastic_ranks(hosts, two, {2, 8}) == RankRange{4, 16});
  for (const NodeRange range : {NodeRange{1, 3}, {2, 2}, {2, 5}})
    CHECK(widest_placement(hosts, {}, range, 0).world_size() ==
          elastic_ranks(hosts, {}, range).most);
}
