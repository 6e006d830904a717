// config.json of a Hugging Face folder: written for a model, and compared with a model. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Writes a config of GPT2LMHeadModel or LlamaForCausalLM. `vocab`: rows of the embedding;
/// `positions`: the longest sequence.
std::string hf_config_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions,
                           DType dtype);

/// Returns the differences between a config.json and the model, as lines "hidden_size: 64,
/// model.hidden = 128". Missing values count as transformers' defaults. Errors: Error{config}: not
/// a JSON object.
std::vector<std::string> hf_config_mismatches(std::string_view text, const ModelConfig& model);

}  // namespace ds
