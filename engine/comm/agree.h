// Before step 0: are all ranks about to run the same thing?
#pragma once

#include <string>

#include "engine/comm/collectives.h"

namespace ds {

/// Collective. `what` names the fact for people ("training plan", "build"); `digest` is its hash or
/// id (at most 250 bytes; longer ones are cut). Errors: Error{config} on every rank, naming the
/// ranks that differ from most (from rank 0 where no value has a majority) and both values.
void require_agreement(Group& group, const std::string& what, const std::string& digest,
                       Deadline deadline);

}  // namespace ds
