// Variables for a rank's place under the names of other launchers, on request.
#pragma once

#include "launcher/hosts/placement.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Programs that find such variables believe that the launcher of that name started them.
struct RankFamilies {
  bool openmpi = false;
  bool mpich = false;
  bool horovod = false;
  friend bool operator==(const RankFamilies&, const RankFamilies&) = default;
};

/// Returns one rank's place by these names. Pure.
EnvList family_env(const Placement& placement, int rank, const RankFamilies& families);

}  // namespace ds::launcher
