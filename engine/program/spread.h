// Moves the ops that follow control among the ops before it. Pure.
#pragma once

#include "engine/program/offload.h"

namespace ds {

/// Returns the groups in the order of their updates: as they are used, or as their gradients are
/// completed.
std::vector<int> update_order(const Program& step, UpdateMoment time);

/// By group: the index in `body` of the first use of its weights, whole or split, and of the last
/// op of its reduction, after which its gradient is complete. The end of `body` if there is none.
std::vector<std::size_t> first_uses(const Program& program, const std::vector<Op>& body);
/// By group: the index in `body` of the last use of its weights; 0 if there is none.
std::vector<std::size_t> last_uses(const Program& program, const std::vector<Op>& body);
std::vector<std::size_t> reductions(const Program& program, const std::vector<Op>& body);

/// The ops up to control, and the ops after it.
struct StepParts {
  std::vector<Op> body, tail;
};
StepParts parts_of(const Program& step);

/// Inserts `tail` into `body`, in its order: all ops of group g and those before them go ahead of
/// body[anchor[g]]. `order` lists the groups with anchors that do not decrease.
std::vector<Op> spread(const StepParts& parts, const std::vector<int>& order,
                       const std::vector<std::size_t>& anchor);

/// Makes the groups' gradients persistent: they outlive the program that made them.
void keep_gradients(Program& step);

}  // namespace ds
