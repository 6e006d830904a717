// EvalSetup: what `eval` computes, from its words: the model, and a config with the sets of data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/tool_options.h"
#include "engine/config/train_config.h"
#include "engine/sample/open_model.h"

namespace ds {

struct EvalSetup {
  // Its [data], batch.micro, precision.dtype, train.seed and validation keys count; backend
  // resolved
  TrainConfig config{};
  SampledModel model{};
  std::int64_t micro = 1;  // rows of one run
  // Most rows of each set; none: those that a validation in training reads
  std::optional<std::int64_t> most{};
  std::optional<std::int64_t> step{};  // of a checkpoint
};

/// Reads the words: CHECKPOINT|FOLDER [FILES...] [key=value...] and options. The config is that of
/// --config, else the checkpoint's own, else made for the folder. Files that are named replace its
/// validation data; their endings then choose data.format, unless --config or an override gives it.
/// Errors: Error{usage}: words that do not go together; Error{config}: as load_train_config() and
/// open_model(), a tokenizer that is not the model's or has more tokens, rows that are too long.
EvalSetup eval_setup(const ToolWords& words);

}  // namespace ds
