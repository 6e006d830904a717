// Floating-point operations of a model, by the convention stated here.
#pragma once

#include "engine/config/train_config.h"

namespace ds {

/// Returns the parameters that take part in matrix products: the blocks' weights and the LM head
/// (tied or not: the product is computed). Biases, norms and embedding lookups do not count.
double matmul_parameters(const ModelConfig& model);

/// Returns all parameters of the model: a tied embedding counts once; position embeddings, norms
/// and biases count.
double total_parameters(const ModelConfig& model, std::int64_t seq_len);

/// Returns the floating-point operations of training on one token, forward and backward: 6 *
/// matmul_parameters + 6 * L * H * D * T, where the second term is the half of attention that the
/// causal mask leaves. Recomputation does not count. Source: PaLM, arXiv:2204.02311, appendix B,
/// which counts masked attention too.
double training_flops_per_token(const ModelConfig& model, std::int64_t seq_len);

}  // namespace ds
