// Text from the model: one token after the other, by softmax with temperature and top-k.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/execute/executor.h"

namespace ds {

/// Chooses a token. `uniform` in [0, 1); temperature 0 takes the largest. Pure.
/// Shapes: logits (V); only the first `valid` count; top_k = 0 means all.
int choose_token(std::span<const float> logits, std::int64_t valid, double temperature,
                 std::int64_t top_k, double uniform);

/// Continues config.prompt by config.tokens tokens. Text longer than the model's T positions goes
/// on from its last T/2 tokens. `trunk` is the forward program of one sequence, bound by
/// `executor`.
std::string generate(const Program& trunk, Executor& executor, const SampleConfig& config,
                     std::int64_t valid_vocab, Backend& backend, Stream& stream);

}  // namespace ds
