// Parameter counts of GPT-2 and Llama's family.
#include "engine/monitor/model_flops.h"

#include "engine/config/llama_family.h"

namespace ds {
namespace {

struct Sizes {
  // queries, keys: the widths of all heads of queries, and of keys
  double layers, hidden, queries, keys, ffn, vocab;
  const LlamaFamily* family;  // null for gpt2
};

Sizes sizes_of(const ModelConfig& model) {
  const std::int64_t kv_heads = model.kv_heads == 0 ? model.heads : model.kv_heads;
  const std::int64_t head = model.elements_of_head();
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  return {.layers = number(model.layers),
          .hidden = number(model.hidden),
          .queries = number(model.heads * head),
          .keys = number(kv_heads * head),
          .ffn = number(model.ffn),
          .vocab = number(model.vocab),
          .family = llama_family(model.arch)};
}

}  // namespace

double matmul_parameters(const ModelConfig& model) {
  const Sizes s = sizes_of(model);
  const double attention = 2 * s.hidden * (s.queries + s.keys);  // q and projection; k and v
  const double products = s.family != nullptr ? 3 : 2;           // of the feed-forward layer
  return s.layers * (attention + products * s.hidden * s.ffn) + s.vocab * s.hidden;
}

double total_parameters(const ModelConfig& model, std::int64_t seq_len) {
  const Sizes s = sizes_of(model);
  if (s.family != nullptr) {  // two norms per block and one at the end
    const double embedding = model.tied ? 0 : s.vocab * s.hidden;
    const double biases = s.family->qkv_bias ? s.queries + 2 * s.keys : 0;
    return matmul_parameters(model) + embedding + (2 * s.layers + 1) * s.hidden + s.layers * biases;
  }
  const double biases = 4 * s.hidden + s.ffn + s.hidden;
  const double norms = 4 * s.hidden;  // two per block, with weight and bias
  return matmul_parameters(model) + static_cast<double>(seq_len) * s.hidden +
         s.layers * (biases + norms) + 2 * s.hidden;
}

}  // namespace ds
