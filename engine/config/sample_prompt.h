// sample_prompt(): the tokens that the sample at the end of training continues.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config/train_config.h"

namespace ds {

class Tokenizer;

/// Returns the tokens of sample.prompt. An empty prompt stands for a newline, except with
/// data.tokenizer = "none". `tokenizer`: that of the data; null: it is "bytes" or "none". The
/// result is empty if the tokenizer makes no tokens of the prompt, or if the prompt has to be token
/// numbers and is not.
std::vector<std::int32_t> sample_prompt(const TrainConfig& config, const Tokenizer* tokenizer);

}  // namespace ds
