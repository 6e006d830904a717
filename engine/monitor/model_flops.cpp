// Parameter counts of GPT-2, Llama's family, BERT's and T5.
#include "engine/monitor/model_flops.h"

#include "engine/config/bert_family.h"
#include "engine/config/llama_family.h"

namespace ds {
namespace {

struct Sizes {
  // queries, keys: the widths of all heads of queries, and of keys
  double layers, hidden, queries, keys, ffn, vocab;
  const LlamaFamily* family;  // null for others
  bool is_bert;
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
          .family = llama_family(model.arch),
          .is_bert = bert_family(model.arch) != nullptr};
}

/// Weights of matrix products in both stacks of a T5.
double t5_matmul_parameters(const ModelConfig& model, const Sizes& s) {
  const double attention = 4 * s.hidden * s.queries;
  const double products = model.activation == FeedForward::gated_gelu ? 3 : 2;
  const double mlp = products * s.hidden * s.ffn;
  const auto decoder = static_cast<double>(model.blocks_of_decoder());
  return s.layers * (attention + mlp) + decoder * (2 * attention + mlp) + s.vocab * s.hidden;
}

double t5_parameters(const ModelConfig& model, const Sizes& s) {
  const auto decoder = static_cast<double>(model.blocks_of_decoder());
  const double norms = (2 * s.layers + 3 * decoder + 2) * s.hidden;
  const double tables = 2 * static_cast<double>(model.relative_buckets * model.heads);
  const double embedding = model.tied ? 0 : s.vocab * s.hidden;
  return t5_matmul_parameters(model, s) + norms + tables + embedding;
}

}  // namespace

double matmul_parameters(const ModelConfig& model) {
  const Sizes s = sizes_of(model);
  if (model.arch == "t5") return t5_matmul_parameters(model, s);
  const double attention = 2 * s.hidden * (s.queries + s.keys);  // q and projection; k and v
  const double products = s.family != nullptr ? 3 : 2;           // of the feed-forward layer
  const double head = s.is_bert ? s.hidden * s.hidden : 0;       // its first layer
  return s.layers * (attention + products * s.hidden * s.ffn) + head + s.vocab * s.hidden;
}

double total_parameters(const ModelConfig& model, std::int64_t seq_len) {
  const Sizes s = sizes_of(model);
  if (model.arch == "t5") return t5_parameters(model, s);
  if (s.family != nullptr) {  // two norms per block and one at the end
    const double embedding = model.tied ? 0 : s.vocab * s.hidden;
    const double biases = s.family->qkv_bias ? s.queries + 2 * s.keys : 0;
    const double of_heads =
        s.family->head_norms ? 2 * static_cast<double>(model.elements_of_head()) : 0;
    return matmul_parameters(model) + embedding + (2 * s.layers + 1) * s.hidden +
           s.layers * (biases + of_heads);
  }
  const double biases = 4 * s.hidden + s.ffn + s.hidden;
  const double norms = 4 * s.hidden;  // two per block, with weight and bias
  if (s.is_bert) {
    const auto rows = static_cast<double>(model.first_position + seq_len + model.type_vocab);
    // Norms of the embeddings and of the head, the head's two biases
    return matmul_parameters(model) + rows * s.hidden + s.layers * (biases + norms) + 5 * s.hidden +
           s.vocab;
  }
  return matmul_parameters(model) + static_cast<double>(seq_len) * s.hidden +
         s.layers * (biases + norms) + 2 * s.hidden;
}

}  // namespace ds
