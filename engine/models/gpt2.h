// GPT-2: learned positions, pre-norm blocks, fused qkv, tanh GELU, tied head. Radford et al. 2019.
#pragma once

#include "engine/config/train_config.h"
#include "engine/program/program.h"

namespace ds {

struct ModelShape {
  std::int64_t micro = 1, seq_len = 1;  // B and T of this program
  std::int64_t valid_vocab = 256;       // tokens that exist; model.vocab may be padded above it
  DType act = DType::f32;
  double dropout = 0;  // of this program: config's when it trains, 0 when it does not
};

/// The forward pass of one micro-batch: groups "embed" (wte, wpe), "block0".., "final" (ln_f); ends
/// with head_loss. Init: N(0, 0.02), residual projections / sqrt(2 layers), wpe N(0, 0.02)... as
/// Hugging Face's GPT-2. Dropout where it has it: embeddings, attention's probabilities, both
/// branches of a block.
Program build_gpt2(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
