// hf_config_json(): the config.json of a model. Pure.
#pragma once

#include <string>

#include "engine/config/train_config.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Writes a config of GPT2LMHeadModel, or a class of Llama's or BERT's family. `vocab`: rows of the embedding;
/// `positions`: the longest sequence.
std::string hf_config_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions,
                           DType dtype);

}  // namespace ds
