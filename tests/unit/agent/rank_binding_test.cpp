// Tests which processors each rank of a node gets.
#include "launcher/agent/rank_binding.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "launcher/hosts/fold_names.h"

using namespace ds::launcher;

namespace {

using Devices = std::vector<std::string>;
using Numbers = std::vector<int>;

/// `nodes` NUMA nodes of `cores` cores of two threads: first threads are 0, 1, 2 and so on, as
/// Intel numbers them. GPUs, two a node, the far node's first.
NodeTopology machine(int nodes, int cores) {
  NodeTopology topology;
  for (int number = 0; number < 2 * nodes * cores; ++number) {
    const int core = number % (nodes * cores);
    topology.processors.push_back({number, core, core / cores});
  }
  for (int i = 0; i < 2 * nodes; ++i)
    topology.devices.push_back({"GPU-" + std::to_string(i) + "abc", nodes - 1 - i / 2});
  return topology;
}

std::vector<Numbers> processors(Bind how, const NodeTopology& topology, const Devices& devices) {
  std::vector<Numbers> found;
  for (const RankBinding& one : bind_ranks(how, topology, devices)) found.push_back(one.processors);
  return found;
}

/// Two sockets of two NUMA nodes with an L3 cache each, four cores of two threads: processors are
/// numbered thread by thread, so that NUMA node 0 has 0-7 and socket 1 has 16-31.
NodeTopology two_sockets() {
  NodeTopology topology;
  for (int number = 0; number < 32; ++number)
    topology.processors.push_back({number, number / 2, number / 8, number / 16, number / 8});
  return topology;
}

/// Returns the processors of each rank in the order of ranks, as "0-1 16-17".
std::string by_level(const LevelBinding& level, std::size_t ranks,
                     const NodeTopology& topology = two_sockets()) {
  std::string text;
  for (const RankBinding& one : bind_ranks(Bind::level, topology, Devices(ranks), level))
    text +=
        (text.empty() ? "" : " ") + (one.processors.empty() ? "any" : rank_ranges(one.processors));
  return text;
}

}  // namespace

TEST_CASE("without a wish nobody is bound") {
  CHECK(bind_ranks(Bind::none, machine(2, 4), Devices(2)) == std::vector<RankBinding>(2));
  CHECK(bind_ranks(Bind::cores, {}, Devices(2)) == std::vector<RankBinding>(2));
  CHECK(bind_ranks(Bind::cores, machine(2, 4), {}).empty());
}

TEST_CASE("numa: the node of the GPU, or the nodes in their order") {
  const NodeTopology topology = machine(2, 2);
  const Numbers first{0, 1, 4, 5};
  const Numbers second{2, 3, 6, 7};
  CHECK(processors(Bind::numa, topology, {"0", "1", "2", "3"}) ==
        std::vector<Numbers>{second, second, first, first});
  CHECK(processors(Bind::numa, topology, Devices(4)) ==
        std::vector<Numbers>{first, first, second, second});
  CHECK(processors(Bind::numa, topology, Devices(1)) == std::vector<Numbers>{first});
  CHECK(processors(Bind::numa, topology, {"GPU-2", "MIG-GPU-0abc/1/0", "MIG-unknown", "9"}) ==
        std::vector<Numbers>{first, second, second, second});
}

TEST_CASE("memory is preferred only where there are several nodes") {
  CHECK(bind_ranks(Bind::numa, machine(2, 2), {"0"}) ==
        std::vector<RankBinding>{{{2, 3, 6, 7}, 1, true}});
  CHECK(bind_ranks(Bind::numa, machine(1, 2), {"0"}) ==
        std::vector<RankBinding>{{{0, 1, 2, 3}, 0, false}});
}

TEST_CASE("cores: whole cores of the GPU's node, shared evenly") {
  CHECK(processors(Bind::cores, machine(2, 4), {"0", "1", "2", "3"}) ==
        std::vector<Numbers>{{4, 5, 12, 13}, {6, 7, 14, 15}, {0, 1, 8, 9}, {2, 3, 10, 11}});
  CHECK(processors(Bind::cores, machine(1, 5), Devices(2)) ==
        std::vector<Numbers>{{0, 1, 5, 6}, {2, 3, 4, 7, 8, 9}});
}

TEST_CASE("cores: with more ranks than cores, hardware threads") {
  CHECK(processors(Bind::cores, machine(1, 2), Devices(3)) ==
        std::vector<Numbers>{{0}, {2}, {1, 3}});
}

TEST_CASE("cores: a crowded node is left for the others, then for the whole machine") {
  // Six ranks of GPUs of a node with four threads.
  const NodeTopology topology = machine(2, 2);
  CHECK(processors(Bind::cores, topology, {"0", "1", "0", "1", "0", "1"}) ==
        std::vector<Numbers>{{0}, {4}, {1, 5}, {2}, {6}, {3, 7}});
  NodeTopology uneven = machine(2, 2);
  uneven.processors.erase(uneven.processors.begin());  // three and four
  CHECK(processors(Bind::cores, uneven, Devices(7)).size() == 7);
  for (const Numbers& one : processors(Bind::cores, uneven, Devices(7))) CHECK(one.size() == 1);
}

TEST_CASE("cores: every processor is given once, whatever the numbers") {
  for (int nodes = 1; nodes <= 4; ++nodes) {
    for (int cores = 1; cores <= 5; ++cores) {
      const NodeTopology topology = machine(nodes, cores);
      for (std::size_t ranks = 1; ranks <= topology.processors.size(); ++ranks) {
        std::multiset<int> given;
        for (const Numbers& one : processors(Bind::cores, topology, Devices(ranks))) {
          CHECK_FALSE(one.empty());
          given.insert(one.begin(), one.end());
        }
        CHECK(given.size() == std::set<int>(given.begin(), given.end()).size());
        if (ranks >= static_cast<std::size_t>(nodes))
          CHECK(given.size() == topology.processors.size());
      }
    }
  }
}

TEST_CASE("more ranks than processors share them") {
  CHECK(processors(Bind::cores, machine(1, 1), Devices(3)) == std::vector<Numbers>{{0}, {1}, {0}});
}

// The expected processors are those of Hydra 4.0 (HYDRA_TOPO_DEBUG=1) and of Open MPI 4.1
// (--display-map) with HWLOC_SYNTHETIC="package:2 numa:2 l3:1 core:4 pu:2".
TEST_CASE("levels: as -bind-to and -map-by of Hydra and Open MPI") {
  using enum Level;
  CHECK(by_level({.map = core, .to = core}, 6) == "0-1 2-3 4-5 6-7 8-9 10-11");
  CHECK(by_level({.map = socket, .to = core}, 6) == "0-1 16-17 2-3 18-19 4-5 20-21");
  CHECK(by_level({.map = numa, .to = core}, 6) == "0-1 8-9 16-17 24-25 2-3 10-11");
  CHECK(by_level({.map = hwthread, .to = core}, 6) == "0-1 0-1 2-3 2-3 4-5 4-5");
  CHECK(by_level({.map = hwthread, .to = hwthread}, 6) == "0 1 2 3 4 5");
  CHECK(by_level({.map = core, .to = hwthread}, 6) == "0 2 4 6 8 10");
  CHECK(by_level({.map = socket, .to = hwthread}, 6) == "0 16 1 17 2 18");
  CHECK(by_level({.map = socket, .to = socket}, 3) == "0-15 16-31 0-15");
  CHECK(by_level({.map = numa, .to = numa}, 5) == "0-7 8-15 16-23 24-31 0-7");
  CHECK(by_level({.map = socket, .to = numa}, 6) == "0-7 16-23 8-15 24-31 0-7 16-23");
  CHECK(by_level({.map = core, .to = numa}, 6) == "0-7 0-7 0-7 0-7 8-15 8-15");
  CHECK(by_level({.map = l3cache, .to = core}, 4) == "0-1 8-9 16-17 24-25");
  CHECK(by_level({.map = numa, .to = socket}, 3) == "0-15 0-15 16-31");
}

TEST_CASE("levels: several parts a rank, ranks per part, and the end of the parts") {
  using enum Level;
  CHECK(by_level({.map = node, .to = core, .width = 2}, 3) == "0-3 4-7 8-11");
  CHECK(by_level({.map = socket, .to = core, .width = 2}, 6) == "0-3 16-19 4-7 20-23 8-11 24-27");
  CHECK(by_level({.map = node, .to = hwthread, .width = 3}, 3) == "0-2 3-5 6-8");
  CHECK(by_level({.map = socket, .to = socket, .width = 2}, 2) == "0-15 16-31");
  CHECK(by_level({.map = socket, .to = numa, .per_part = 2}, 4) == "0-7 8-15 16-23 24-31");
  CHECK(by_level({.map = socket, .to = core, .per_part = 2}, 5) == "0-1 2-3 16-17 18-19 4-5");
  NodeTopology three;
  for (int i = 0; i < 3; ++i) three.processors.push_back({i, i, 0});
  CHECK(by_level({.map = node, .to = core, .width = 2}, 4, three) == "0-1 0,2 1-2 0-1");
  const std::string all = by_level({.map = node, .to = core}, 18);
  CHECK(all.ends_with("30-31 0-1 2-3"));
}

TEST_CASE("levels: ranks numbered part by part") {
  using enum Level;
  CHECK(by_level({.map = socket, .to = core, .fill = true}, 5) == "0-1 2-3 4-5 16-17 18-19");
  CHECK(by_level({.map = socket, .to = socket, .fill = true}, 4) == "0-15 0-15 16-31 16-31");
}

TEST_CASE("levels: a socket inside of a NUMA node, and a machine that tells nothing") {
  using enum Level;
  NodeTopology topology;  // two sockets that share one NUMA node, as BIOS settings can make it
  for (int number = 0; number < 4; ++number)
    topology.processors.push_back({number, number, 0, number / 2, number / 2});
  CHECK(by_level({.map = numa, .to = socket}, 3, topology) == "0-1 2-3 0-1");
  CHECK(by_level({.map = socket, .to = numa}, 2, topology) == "0-3 0-3");
  CHECK(by_level({.map = socket, .to = core}, 2, {}) == "any any");
}

TEST_CASE("bindings in words") {
  CHECK(binding_text({{0, 1, 2, 8}, 1, true}) == "processors 0-2,8 of NUMA node 1");
  CHECK(binding_text({{4}, -1, false}) == "processor 4");
  CHECK(binding_text({}) == "any processor");
}

TEST_CASE("masks as the kernel takes them") {
  CHECK(affinity_mask({}) == std::vector<unsigned long>{});
  CHECK(affinity_mask({0, 2}) == std::vector<unsigned long>{5});
  CHECK(affinity_mask({65}) == std::vector<unsigned long>{0, 2});
}
