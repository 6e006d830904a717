// The parts of resolve() that have their own files.
#pragma once

#include "engine/config/resolve.h"

namespace ds {

void resolve_optim(TrainConfig& config, const GivenKeys& given);
/// Runs after resolve_optim().
void resolve_memory(TrainConfig& config, const GivenKeys& given);

/// Resolves [data] after the model, and finds out what the samples have beside tokens.
void resolve_data(TrainConfig& config, const GivenKeys& given);

/// Applies the preset, and resolves and checks the keys of [model] but vocab and tokens.
void resolve_model(ModelConfig& model, const GivenKeys& given);
/// Chooses which rows of the embedding are tokens, and rounds the number of rows up.
void resolve_vocab(ModelConfig& model, const std::string& tokenizer, const GivenKeys& given);

/// Resolves a T5's keys after its preset.
void resolve_t5(ModelConfig& model, const GivenKeys& given);
/// Refuses T5's own keys for another model.
void refuse_t5_keys(const TrainConfig& config, const GivenKeys& given);
/// Refuses data that T5 cannot use.
void require_t5_data(TrainConfig& config, const GivenKeys& given);

}  // namespace ds
