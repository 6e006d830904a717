// exchange_shares(): gives a rank's own share to its buddy on another node and takes its ward's.
#pragma once

#include <cstdint>

#include "engine/comm/collectives.h"
#include "engine/keep/buddies.h"
#include "engine/keep/slot_memory.h"

namespace ds {

struct KeepRoles {
  int buddy = kNoBuddy;  // keeps this rank's copy
  int ward = kNoBuddy;   // this rank keeps its copy
};

/// Returns how long an exchange of shares of at most `bytes` may take: a rank may come later by
/// `silence`, and its share arrives at 8 MiB/s or faster. So little is left of a link of 1 Gb/s for
/// each of 15 ranks.
Clock::duration exchange_time(std::int64_t bytes, Clock::duration silence);

/// `own` has a share that was just written; null: there is none. `ward` receives the ward's share,
/// with its header last; null: there is no memory for it. A share that one of both ends lacks is
/// left out. Returns why the ward's share is not here, if its rank has none: "rank 3 has no share".
/// Collective, whatever failed before. Errors: Error{comm}; Error{system} if the share cannot be
/// written.
std::string exchange_shares(Group& group, const KeepRoles& roles, SlotMemory* own, SlotMemory* ward,
                            Deadline deadline);

}  // namespace ds
