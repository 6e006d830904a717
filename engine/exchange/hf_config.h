// config.json of a Hugging Face folder: written for a model, and compared with one. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// GPT2LMHeadModel or LlamaForCausalLM. `vocab`: rows of the embedding; `positions`: the longest
/// sequence.
std::string hf_config_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions,
                           DType dtype);

/// What a config.json says and the model is not, as lines "hidden_size: 64, model.hidden = 128".
/// Absent values count as transformers' defaults. Errors: Error{config}: no JSON object.
std::vector<std::string> hf_config_mismatches(std::string_view text, const ModelConfig& model);

}  // namespace ds
