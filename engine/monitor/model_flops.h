// Floating-point work of a model, by one stated convention.
#pragma once

#include "engine/config/train_config.h"

namespace ds {

/// Parameters that take part in matrix products: the blocks' weights and the LM head (tied or not:
/// the product is computed). Biases, norms and embeddings' look-ups are left out.
double matmul_parameters(const ModelConfig& model);

/// All parameters of the model: a tied embedding counted once; position embeddings, norms and
/// biases included.
double total_parameters(const ModelConfig& model, std::int64_t seq_len);

/// Floating-point operations of training on one token, forward and backward: 6 * matmul_parameters
/// + 6 * L * C * T; the half of attention that the causal mask leaves. Work done again
/// (recomputing) does not count. Source: PaLM, arXiv:2204.02311, appendix B, which counts masked
/// attention too.
double training_flops_per_token(const ModelConfig& model, std::int64_t seq_len);

}  // namespace ds
