// Generates text from the model, one token at a time, by softmax with temperature and top-k.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/execute/executor.h"

namespace ds {

/// Returns a token. `uniform` is in [0, 1); temperature 0 returns the likeliest token. Pure.
/// Shapes: logits (V); only the first `valid` are candidates; top_k = 0 means all.
int choose_token(std::span<const float> logits, std::int64_t valid, double temperature,
                 std::int64_t top_k, double uniform);

/// Returns sample.tokens tokens that continue sample.prompt, as text; with the tokenizer "none",
/// both as token numbers. When the text exceeds the
/// model's T positions, generation continues from its last T/2 tokens. `trunk` is the forward
/// program of one sequence, bound by `executor`.
std::string generate(const Program& trunk, Executor& executor, const TrainConfig& config,
                     Backend& backend, Stream& stream);

}  // namespace ds
