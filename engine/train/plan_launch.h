// What a rank plans before it meets the others: values "auto", and whether there is room.
#pragma once

#include "engine/comm/collectives.h"
#include "engine/config/load.h"
#include "engine/plan/auto.h"
#include "engine/train/plan_build.h"

namespace ds {

struct LaunchPlace {
  int rank = 0, world_size = 1;
  int local_ranks = 1;      // on this rank's node
  bool order_given = true;  // as SolveRequest's
  bool is_here = true;      // the rank runs on this machine, whose free memory counts
};

/// The config with every "auto" chosen for this rank. `device` is the job's, or the CPU where that
/// is not on this machine. Errors: Error{config} when the plan of the node's ranks, all as large as
/// this one, is more than the config or this machine allows; it names what would fit.
AutoChoice plan_launch(const TrainConfig& config, const LaunchPlace& place,
                       const WorkspaceBytes& workspace, const Device& device);

/// Ranks may have chosen differently, as their machines do: all take the choice that needs least
/// memory. `given` is the config before plan_launch(). Collective.
TrainConfig agree_on_auto(const TrainConfig& given, const AutoChoice& own, Group& world,
                          Deadline deadline);

}  // namespace ds
