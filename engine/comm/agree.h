// What all ranks of a group agree on: that they are about to run the same thing, before step 0; and
// what they do after a step.
#pragma once

#include <string>

#include "engine/comm/collectives.h"
#include "engine/comm/control_word.h"

namespace ds {

/// Compares a digest between all ranks of the group. Collective. `what` names the fact in messages
/// ("training plan", "build"); `digest` is its hash or id (longer ones are cut as notes.h says).
/// Errors: Error{config} on every rank, naming the ranks that differ from the majority (from rank 0
/// where there is none) and both values.
void require_agreement(Group& group, const std::string& what, const std::string& digest,
                       Deadline deadline);

/// Returns the decision from the words of all ranks of the group. Collective. Errors: as decide().
StepDecision decide_together(Group& group, const ControlWord& own, Deadline deadline);

}  // namespace ds
