// Ranks of a node -> the processors that each may use. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/agent/node_topology.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

struct RankBinding {
  std::vector<int> processors{};  // ascending; empty: not bound
  int numa = -1;                  // the node that all of them are of; -1: of several
  bool prefers_memory = false;    // of that node; not set where there is only one
  friend bool operator==(const RankBinding&, const RankBinding&) = default;
};

/// `devices`: of each rank of the node, in their order, the GPU as CUDA_VISIBLE_DEVICES names it;
/// empty where none is known.   Returns: one for each.
/// A rank belongs to its GPU's NUMA node, or else ranks fill the nodes in their order. Bind::cores
/// divides whole cores of a NUMA node among its ranks; hardware threads where it has fewer cores;
/// those of the whole machine where it has fewer of these, too.
std::vector<RankBinding> bind_ranks(Bind how, const NodeTopology& topology,
                                    const std::vector<std::string>& devices);

/// "processors 0-3,8-11 of NUMA node 0".
std::string binding_text(const RankBinding& binding);

/// The bits of sched_setaffinity(2).
std::vector<unsigned long> affinity_mask(const std::vector<int>& processors);

}  // namespace ds::launcher
