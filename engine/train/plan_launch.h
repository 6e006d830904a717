// Plans a rank before it connects to the others: chooses "auto" values and checks memory.
#pragma once

#include <functional>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/config/load.h"
#include "engine/plan/auto.h"
#include "engine/train/plan_build.h"

namespace ds {

struct LaunchPlace {
  int rank = 0, world_size = 1;
  int local_ranks = 1;      // on this rank's node
  bool order_given = true;  // as in SolveRequest
  bool is_here = true;      // the rank runs on this machine, so its free memory is a limit
  std::int64_t held = 0;    // bytes of this machine that states kept by the last epoch take: the
                            // ones that this epoch keeps replace them
  /// How long to wait for memory of the device that ranks of an earlier epoch still hold.
  Clock::duration patience{};
};

/// Returns the config with every "auto" chosen for this rank. `device` is the job's, or the CPU if
/// the job's device is not on this machine. `say` receives a line if it waits. Errors:
/// Error{config} if the ranks of this node, each as large as this one, exceed the memory of the
/// config or the machine; it names what would fit.
AutoChoice plan_launch(const TrainConfig& config, const LaunchPlace& place,
                       const WorkspaceBytes& workspace, const Device& device,
                       const std::function<void(const std::string&)>& say = {});

/// Returns the choice that needs least memory among all ranks' choices, which can differ because
/// their machines do. `given` is the config before plan_launch(). Collective.
TrainConfig agree_on_auto(const TrainConfig& given, const AutoChoice& own, Group& world,
                          Deadline deadline);

}  // namespace ds
