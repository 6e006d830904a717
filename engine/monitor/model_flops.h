// Floating-point work of a GPT-2 model, by one stated convention.
#pragma once

#include "engine/config/train_config.h"

namespace ds {

/// Parameters that take part in matrix products: the blocks' four weights and the LM head (tied or
/// not: the product is computed). Biases, norms and embeddings' look-ups are left out.
double matmul_parameters(const ModelConfig& model);

/// All parameters of the model: tied embedding counted once, position embedding and biases
/// included.
double total_parameters(const ModelConfig& model, std::int64_t seq_len);

/// Floating-point operations of training on one token: 6 * matmul_parameters + 12 * L * C * T,
/// forward and backward; attention is counted in full, as if it were not causal (half of it is
/// masked). Source: PaLM, arXiv:2204.02311, appendix B.
double training_flops_per_token(const ModelConfig& model, std::int64_t seq_len);

}  // namespace ds
