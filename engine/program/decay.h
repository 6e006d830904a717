// Weight decay by tensor: which parameters have it, and where an update finds them in flat memory.
#pragma once

#include <string>
#include <vector>

#include "engine/program/program.h"

namespace ds {

/// Returns the model without weight decay for the tensors that `no_decay` lists: "norms", "biases"
/// (names ending in ".bias", also of norms), and patterns of tensor names as in fnmatch(3). Pure.
/// Errors: Error{config}: a pattern that matches no tensor.
Program without_decay(Program model, const std::vector<std::string>& no_decay);

/// Returns where weight decay stops and starts in turn within elements [first, first + elements) of
/// a group, relative to `first`: ascending multiples of kLeaf. Elements before the first cut decay.
/// The gap after a tensor belongs to the tensor.
std::vector<std::int64_t> decay_cuts(const ParamGroup& group, std::int64_t first,
                                     std::int64_t elements);

}  // namespace ds
