// Prints which processors the ranks of a command line of mpirun would get on a made-up node:
// bind_probe SOCKETS NUMA_NODES CORES THREADS mpirun -np 4 --bind-to core true
// Each number counts within the part before it. Processors are numbered as hwloc does for
// HWLOC_SYNTHETIC="package:SOCKETS numa:NUMA_NODES l3:1 core:CORES pu:THREADS".
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "launcher/agent/rank_binding.h"
#include "launcher/cli/options.h"
#include "launcher/disguise/disguise.h"
#include "launcher/hosts/fold_names.h"

using namespace ds::launcher;

namespace {

NodeTopology made_up(int sockets, int numa_nodes, int cores, int threads) {
  NodeTopology topology;
  for (int number = 0; number < sockets * numa_nodes * cores * threads; ++number) {
    const int core = number / threads;
    const int numa = core / cores;
    topology.processors.push_back({number, core, numa, numa / numa_nodes, numa});
  }
  return topology;
}

Options options_of(const Disguise& disguise, const std::vector<std::string>& words) {
  const Surroundings around{.variable = [](const std::string&) { return std::nullopt; },
                            .cores = [] { return 1; },
                            .gpus = [] { return 0; }};
  std::vector<std::string> own = disguise.translate(disguise.name, words, around).words;
  std::vector<const char*> pointers = {"dslaunch"};
  for (const std::string& word : own) pointers.push_back(word.c_str());
  return parse_args(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

int main(int argc, char** argv) try {
  const Disguise* disguise = argc > 6 ? find_disguise(argv[5]) : nullptr;
  if (disguise == nullptr) return 2;
  const Options options = options_of(*disguise, {argv + 6, argv + argc});
  const int ranks = options.hosts.ranks.value_or(1);
  Binding binding = binding_for(options.hosts.map, ranks);
  const int cores = std::atoi(argv[1]) * std::atoi(argv[2]) * std::atoi(argv[3]);
  if (binding.by_default && ranks > cores) binding.bind = Bind::none;
  const NodeTopology node =
      made_up(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  const std::vector<std::string> devices(static_cast<std::size_t>(ranks));
  for (const RankBinding& one : bind_ranks(binding.bind, node, devices, binding.level))
    std::puts(one.processors.empty() ? "any" : rank_ranges(one.processors).c_str());
  return 0;
} catch (const ds::Error& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
