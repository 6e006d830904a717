// PeftConfig: what the adapter_config.json of a PEFT folder says, in keys of [lora]. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/hf_config.h"

namespace ds {

struct PeftConfig {
  std::vector<HfConfig::Field> fields;  // the keys of [lora] that decide what an adapter computes
  std::vector<std::string> refused;     // a line each: what is not built, values of a wrong type
};

/// Reads an adapter_config.json of PEFT. Missing values have PEFT's defaults. Keys that this build
/// does not know are refused unless they are off (null, false or empty). Errors: Error{config}: not
/// a JSON object.
PeftConfig read_peft_config(std::string_view text);

}  // namespace ds
