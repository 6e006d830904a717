// Applies the named model sizes of model.preset.
#pragma once

#include "engine/config/resolve.h"

namespace ds {

/// Fills the sizes that `model` leaves open from the preset it names, if any.
/// Errors: Error{config} if model.arch is given and differs from the preset's.
void apply_preset(ModelConfig& model, const GivenKeys& given);

}  // namespace ds
