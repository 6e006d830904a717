// HfConfig: what the config.json of a Hugging Face folder says, in keys of [model]. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/entry.h"
#include "engine/config/train_config.h"

namespace ds {

struct HfConfig {
  struct Field {
    std::string theirs;    // for messages: "hidden_size: 64", "n_layer: 12 (not given)"
    std::string_view key;  // "model.hidden"
    ConfigValue value;
  };
  std::string arch;  // model_type
  std::int64_t vocab = 0;
  std::vector<Field> fields;         // the other keys of [model] that decide what a model computes
  std::vector<std::string> refused;  // a line each: what is not built, and values of a wrong type
};

/// Reads a config.json of transformers 4 or 5. Missing values have transformers' defaults. `arch`:
/// the model_type of a file that names none. `positions`: the longest sequence. Errors:
/// Error{config}: not a JSON object.
HfConfig read_hf_config(std::string_view text, std::string_view arch, std::int64_t positions);

/// Returns how the file differs from the model, and what it has that is not built, as lines
/// "hidden_size: 64, model.hidden = 128". Errors: as read_hf_config().
std::vector<std::string> hf_config_mismatches(std::string_view text, const ModelConfig& model,
                                              std::int64_t positions);

/// Returns whether two values are equal. Numbers may differ by the rounding of a decimal.
bool is_same_value(const ConfigValue& a, const ConfigValue& b);

}  // namespace ds
