// apply_folder(): fills [model] from a Hugging Face folder. model_of_folder(): the model of one.
#pragma once

#include "engine/config/resolve.h"

namespace ds {

/// Sets the keys of [model] that are not given to what the config.json in model.from says, and
/// model.init to the folder; they count as given then. Does nothing without model.from. Errors:
/// Error{config}: it cannot be read; all keys that differ from it; all that is not built. Likewise
/// for [lora] and the adapter_config.json in lora.from.
void apply_folder(TrainConfig& config, GivenKeys& given);

/// Returns the model that the config.json of a folder describes. Its vocab is the folder's; the
/// number of positions is not checked. Errors: Error{config}: it cannot be read; all that is not
/// built or out of range.
ModelConfig model_of_folder(const std::string& folder);

}  // namespace ds
