// Hosts of a job with --nodes MIN:MAX: what each does, and when the next epoch begins. Pure.
#pragma once

#include "launcher/job/job_policy.h"

namespace ds::launcher {

/// What a host does in a job with --nodes MIN:MAX.
enum class HostRole {
  takes_part,  // in this epoch
  waits,       // its agent can take part in the next one
  away,        // it has not answered, or was lost
  retired      // it shall leave for good, or has
};

/// What is known while hosts are gathered for an epoch.
struct Gathering {
  int here = 0;    // hosts whose agents can take part
  int coming = 0;  // hosts that were dialed for the first time and have not answered
  int before = 0;  // nodes of the last epoch; 0: this is the first
  bool overdue = false;
  bool earlier = false;  // a host has not answered that precedes the chosen ones in the list
  NodeRange nodes{};
  OnLoss on_loss = OnLoss::smaller;
};

enum class GatherStep { wait, begin, give_up };

/// The first epoch waits for every host that may still come, up to the largest size: the first
/// hosts of the list, and others only for those that are bad. Later epochs begin with whoever is
/// there: survivors must not wait.
inline GatherStep gather_step(const Gathering& now) {
  const bool enough = now.here >= now.nodes.least;
  const bool full = now.here >= now.nodes.most;
  if (full && !(now.before == 0 && now.earlier && !now.overdue)) return GatherStep::begin;
  if (now.before == 0) {
    if (now.coming > 0 && !(now.overdue && enough)) return GatherStep::wait;
    return enough ? GatherStep::begin : GatherStep::give_up;
  }
  if (now.overdue) return enough ? GatherStep::begin : GatherStep::give_up;
  const bool keeps_size = now.on_loss == OnLoss::wait && now.here < now.before;
  return enough && !keeps_size ? GatherStep::begin : GatherStep::wait;
}

}  // namespace ds::launcher
