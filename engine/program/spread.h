// What follows control, moved among the ops before it. Pure.
#pragma once

#include "engine/program/offload.h"

namespace ds {

/// Groups in the order in which they are updated: as they are used, or as their gradients are
/// complete.
std::vector<int> update_order(const Program& step, UpdateMoment time);

/// By group: the place in `body` of the first use of its weights, whole or split, and of the last
/// op of its reduction, after which its gradient is complete. The body's end if there is none.
std::vector<std::size_t> first_uses(const Program& program, const std::vector<Op>& body);
std::vector<std::size_t> reductions(const Program& program, const std::vector<Op>& body);

/// The ops before control (and it), and those after it.
struct StepParts {
  std::vector<Op> body, tail;
};
StepParts parts_of(const Program& step);

/// `tail`, in its order, inserted into `body`: all of group g and what stands before it ahead of
/// body[anchor[g]]; groups come in `order`, whose anchors do not fall.
std::vector<Op> spread(const StepParts& parts, const std::vector<int>& order,
                       const std::vector<std::size_t>& anchor);

/// Makes the groups' gradients persistent: they outlive the program that made them.
void keep_gradients(Program& step);

}  // namespace ds
