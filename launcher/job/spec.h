// What one node is told to run. Pure.
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

/// `placement` is that of the epoch.
Spec make_spec(const JobRequest& request, const Placement& placement, int node,
               const JobIdentity& identity, const NodeContact& contact);

}  // namespace ds::launcher
