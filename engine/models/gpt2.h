// build_gpt2(): learned positions, pre-norm blocks, fused qkv, tanh GELU, tied head. Radford et al.
// 2019.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Returns the forward pass of one micro-batch: groups "embed" (wte, wpe), "block0".., "final"
/// (ln_f); ends with head_loss. Initial values as in Hugging Face's GPT-2: N(0, 0.02), also wpe;
/// residual projections / sqrt(2 layers). Dropout as there: embeddings, attention's probabilities,
/// both branches of a block.
Program build_gpt2(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
