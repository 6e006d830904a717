// Converts a DeepSpeed configuration to keys of train.toml. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/deepspeed/json_text.h"
#include "engine/deepspeed/keys.h"

namespace ds {

/// A value for train.toml.
using DsValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>,
                             std::vector<std::string>>;

/// One key of train.toml.
struct DsSetting {
  std::string key;  // "batch.micro"
  DsValue value;
  std::string from;  // "train_micro_batch_size_per_gpu"; of defaults: what has this default
  /// The JSON does not say it: DeepSpeed or transformers would use this default, so that a
  /// train.toml beside the JSON may say otherwise.
  bool is_default = false;
  std::size_t name_offset = 0, value_offset = 0;  // in the file; of a default: 0
};

/// A key of the JSON that becomes no key of train.toml.
struct DsPassed {
  std::string from, value;  // the value as in the file
  std::string why;
};

/// What is known beside the JSON.
struct DsContext {
  std::int64_t hidden = 0;  // width of the model, for "auto"; 0: unknown
  std::string dtype{};      // precision.dtype of train.toml, for "auto"; empty: not given
};

struct DsConversion {
  std::vector<DsSetting> settings;
  std::vector<DsPassed> passed;
  std::vector<Error> findings;  // why it cannot be converted; none: it can

  [[nodiscard]] const DsSetting* find(std::string_view key) const;
};

/// Converts the file. "auto" becomes what transformers' Trainer would insert, with train.toml in
/// the place of its arguments. Every key of the file is in exactly one of the three lists, or is
/// one of the keys that share a setting. Errors: Error{config} for a file that is not JSON.
DsConversion convert_deepspeed(const JsonFile& file, const DsContext& context);

/// Joins the findings into one Error{config}. `count` findings stand in its first line.
Error joined_findings(const JsonFile& file, const std::vector<Error>& findings);

}  // namespace ds
