// build_llama(): rotary positions, RMS norm before each branch, grouped keys and values, SwiGLU.
// Touvron et al. 2023, arXiv:2302.13971; grouped keys: arXiv:2305.13245. The family's members
// differ by the traits in engine/config/llama_family.h.
#pragma once

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Returns the forward pass of one micro-batch: groups "embed" (embed_tokens), "block0".., "final"
/// (norm), and "head" (lm_head) unless it is tied to the embedding; ends with head_loss. Initial
/// values as in Hugging Face's Llama: N(0, 0.02), norms 1. Dropout at the same places as in GPT-2.
/// Tensors: docs/models.md; weights of linear layers are (inputs, outputs), the transpose of
/// Hugging Face's:
///   layers.I.self_attn.qkv_proj.weight  (C, (H + 2G) * D)  columns of q_proj, k_proj, v_proj
///   layers.I.self_attn.qkv_proj.bias    ((H + 2G) * D)     qwen2 only
///   layers.I.self_attn.q_norm.weight, k_norm.weight (D)    qwen3 only
///   layers.I.self_attn.o_proj.weight    (H * D, C)
///   layers.I.mlp.gate_up_proj.weight    (C, 2F)            columns of gate_proj, up_proj
///   layers.I.mlp.down_proj.weight       (F, C)
Program build_llama(const ModelConfig& config, const ModelShape& shape);

}  // namespace ds
