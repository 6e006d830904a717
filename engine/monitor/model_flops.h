// Parameters of a model, counted from its configuration.
#pragma once

#include "engine/config/train_config.h"

namespace ds {

/// Returns the parameters that take part in matrix products: the blocks' weights and the LM head
/// (tied or not: the product is computed). Biases, norms and embedding lookups do not count.
double matmul_parameters(const ModelConfig& model);

/// Returns all parameters of the model: a tied embedding counts once; position embeddings, norms
/// and biases count.
double total_parameters(const ModelConfig& model, std::int64_t seq_len);

}  // namespace ds
