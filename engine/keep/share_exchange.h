// exchange_shares(): gives a rank's own share to its buddy on another node and takes its ward's.
#pragma once

#include "engine/comm/collectives.h"
#include "engine/keep/buddies.h"
#include "engine/keep/slot_memory.h"

namespace ds {

struct KeepRoles {
  int buddy = kNoBuddy;  // keeps this rank's copy
  int ward = kNoBuddy;   // this rank keeps its copy
};

/// `own` has a share that was just written; null: there is none. `ward` receives the ward's share,
/// with its header last; null: there is no memory for it. A share that one of both ends lacks is
/// left out. Returns why the ward's share is not here, if its rank has none: "rank 3 has no share".
/// Collective, whatever failed before. Errors: Error{comm}; Error{system} if the share cannot be
/// written.
std::string exchange_shares(Group& group, const KeepRoles& roles, SlotMemory* own, SlotMemory* ward,
                            Deadline deadline);

}  // namespace ds
