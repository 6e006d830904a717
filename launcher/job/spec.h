// Builds the Spec, which tells a node which ranks to prepare. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/job/rank_environment.h"

namespace ds::launcher {

/// The agent that fills the node.
struct NodeContact {
  const Hello& hello;
  bool local = false;
};

/// Builds the Spec of a node. `placement` is that of the epoch.
Spec make_spec(const JobRequest& request, const Placement& placement, int node,
               const JobIdentity& identity, const NodeContact& contact);

/// Returns the GPU of a rank, as CUDA_VISIBLE_DEVICES names it; empty: unknown.
std::string device_of_rank(const JobRequest& request, const Placement& placement, int rank,
                           const Hello& hello);

}  // namespace ds::launcher
