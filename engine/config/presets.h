// Model sizes by name.
#pragma once

#include "engine/config/resolve.h"

namespace ds {

/// Fills what is not given in `model` from the preset it names, if any.
/// Errors: Error{config} when another architecture than the preset's is given.
void apply_preset(ModelConfig& model, const GivenKeys& given);

}  // namespace ds
