// Checks before step 0 that all ranks are about to run the same thing.
#pragma once

#include <string>

#include "engine/comm/collectives.h"

namespace ds {

/// Compares a digest between all ranks of the group. Collective. `what` names the fact in messages
/// ("training plan", "build"); `digest` is its hash or id (at most 250 bytes; longer ones are cut).
/// Errors: Error{config} on every rank, naming the ranks that differ from the majority (from rank 0
/// where there is none) and both values.
void require_agreement(Group& group, const std::string& what, const std::string& digest,
                       Deadline deadline);

}  // namespace ds
