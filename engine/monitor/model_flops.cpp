// Parameter and operation counts of GPT-2 and Llama.
#include "engine/monitor/model_flops.h"

namespace ds {
namespace {

struct Sizes {
  double layers, hidden, heads, kv_heads, ffn, vocab;
  bool gated;
};

Sizes sizes_of(const ModelConfig& model) {
  const std::int64_t kv_heads = model.kv_heads == 0 ? model.heads : model.kv_heads;
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  return {number(model.layers), number(model.hidden), number(model.heads),  number(kv_heads),
          number(model.ffn),    number(model.vocab),  model.arch == "llama"};
}

}  // namespace

double matmul_parameters(const ModelConfig& model) {
  const Sizes s = sizes_of(model);
  const double keys = s.heads == 0 ? 1 : s.kv_heads / s.heads;    // fraction of the width
  const double attention = (2 + 2 * keys) * s.hidden * s.hidden;  // q and projection; k and v
  return s.layers * (attention + (s.gated ? 3 : 2) * s.hidden * s.ffn) + s.vocab * s.hidden;
}

double total_parameters(const ModelConfig& model, std::int64_t seq_len) {
  const Sizes s = sizes_of(model);
  if (s.gated) {  // two norms per block and one at the end
    const double embedding = model.tied ? 0 : s.vocab * s.hidden;
    return matmul_parameters(model) + embedding + (2 * s.layers + 1) * s.hidden;
  }
  const double biases = 4 * s.hidden + s.ffn + s.hidden;
  const double norms = 4 * s.hidden;  // two per block, with weight and bias
  return matmul_parameters(model) + static_cast<double>(seq_len) * s.hidden +
         s.layers * (biases + norms) + 2 * s.hidden;
}

double training_flops_per_token(const ModelConfig& model, std::int64_t seq_len) {
  const Sizes s = sizes_of(model);
  return 6 * matmul_parameters(model) + 6 * s.layers * s.hidden * static_cast<double>(seq_len);
}

}  // namespace ds
