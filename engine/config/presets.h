// Model sizes by name.
#pragma once

#include <string_view>

#include "engine/config/train_config.h"

namespace ds {

/// Fills the sizes that are still 0 in `model` from the preset it names. Errors: none; the name was
/// checked.
void apply_preset(ModelConfig& model);

}  // namespace ds
