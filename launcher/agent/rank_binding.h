// Decides which processors each rank of a node may use. Pure (docs/binding.md).
#pragma once

#include <string>
#include <vector>

#include "launcher/agent/node_facts.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

struct RankBinding {
  std::vector<int> processors{};  // ascending; empty: not bound
  int numa = -1;                  // the NUMA node of all of them; -1: they are on several
  bool prefers_memory = false;    // of that node; false if the machine has only one
  friend bool operator==(const RankBinding&, const RankBinding&) = default;
};

/// Decides which processors each rank may use (docs/binding.md). Pure. `devices` has the GPU of
/// each rank, as in CUDA_VISIBLE_DEVICES; empty if not known. A rank belongs to the NUMA node of
/// its GPU; without one, ranks fill the NUMA nodes in order. Bind::cores divides the cores of a
/// NUMA node among its ranks. With fewer cores than ranks it divides hardware threads, and with
/// fewer threads those of the whole machine.
/// Bind::level maps and binds ranks by the parts of the node, as `level` says; more ranks than
/// parts share them.
std::vector<RankBinding> bind_ranks(Bind how, const NodeTopology& topology,
                                    const std::vector<std::string>& devices,
                                    const LevelBinding& level = {});

/// Returns a text such as "processors 0-3,8-11 of NUMA node 0".
std::string binding_text(const RankBinding& binding);

/// Returns the mask for sched_setaffinity(2).
std::vector<unsigned long> affinity_mask(const std::vector<int>& processors);

}  // namespace ds::launcher
