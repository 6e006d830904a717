// The convention in numbers.
#include "engine/monitor/model_flops.h"

namespace ds {
namespace {

struct Sizes {
  double layers, hidden, ffn, vocab;
};

Sizes sizes_of(const ModelConfig& model) {
  return {static_cast<double>(model.layers), static_cast<double>(model.hidden),
          static_cast<double>(model.ffn), static_cast<double>(model.vocab)};
}

}  // namespace

double matmul_parameters(const ModelConfig& model) {
  const auto [layers, hidden, ffn, vocab] = sizes_of(model);
  const double block =
      4 * hidden * hidden + 2 * hidden * ffn;  // q, k, v, projection; feed-forward.
  return layers * block + vocab * hidden;
}

double total_parameters(const ModelConfig& model, std::int64_t seq_len) {
  const auto [layers, hidden, ffn, vocab] = sizes_of(model);
  const double biases = 4 * hidden + ffn + hidden;
  const double norms = 4 * hidden;  // Two a block, weight and bias.
  return matmul_parameters(model) + static_cast<double>(seq_len) * hidden +
         layers * (biases + norms) + 2 * hidden;
}

double training_flops_per_token(const ModelConfig& model, std::int64_t seq_len) {
  const auto [layers, hidden, ffn, vocab] = sizes_of(model);
  return 6 * matmul_parameters(model) + 12 * layers * hidden * static_cast<double>(seq_len);
}

}  // namespace ds
