// What `dslaunch scale` may change in a running job with --nodes MIN:MAX. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/next_placement.h"
#include "launcher/job/membership.h"

namespace ds::launcher {

struct ScaleFacts {
  NodeRange nodes{};
  int most_nodes = 0;          // that an epoch may have now
  std::vector<Host> hosts{};   // by number, as in Roster
  std::vector<HostRole> roles{};  // by number
  PlacementRequest placing{};
  int training = 0;  // nodes that have ranks of a training; 0: another program, or none yet
  bool loses_steps = false;  // which could go on only from step 0 if its nodes changed
  // As far as the launcher is prepared for it:
  int most_ranks = 0;  // on one host
  int most_world = 0;  // of an epoch
};

struct ScaleWish {
  int nodes = -1;  // -1: as before
  std::vector<std::string> add{};
  std::vector<Host> add_hosts{};  // with their slots
  std::vector<std::string> remove{};
};

struct ScalePlan {
  std::string problem{};  // why nothing changes; the rest is empty then
  std::string text{};     // what changes
  std::vector<Host> add{};
  std::vector<int> retire{};  // numbers of hosts
  int most_nodes = 0;
};

/// Decides what follows from a request. A host to add has the slots that the request names, else
/// those of the first host of the job.
ScalePlan plan_scale(const ScaleFacts& facts, const ScaleWish& wish);

}  // namespace ds::launcher
