// GPT-2: learned positions, pre-norm blocks, fused qkv, tanh GELU, tied head. Radford et al. 2019.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// The forward pass of one micro-batch: groups "embed" (wte, wpe), "block0".., "final" (ln_f); ends
/// with head_loss. Init: N(0, 0.02), residual projections / sqrt(2 layers), wpe N(0, 0.02)... as
/// Hugging Face's GPT-2. Dropout where it has it: embeddings, attention's probabilities, both
/// branches of a block.
Program build_gpt2(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
