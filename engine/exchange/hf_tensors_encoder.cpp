// bert_tensors() and t5_tensors(): the tensors of models with an encoder.
#include <fmt/format.h>

#include "engine/exchange/hf_tensor_list.h"

namespace ds {

/// The head's tensors have no prefix, so they are in a second list.
std::vector<HfTensor> bert_tensors(const ModelConfig& model, const BertFamily& family,
                                   std::int64_t vocab, std::int64_t positions) {
  HfTensorList list{std::string(family.hf_prefix)}, head("");
  const std::int64_t width = model.hidden;
  const auto norm = [width](HfTensorList& to, const std::string& name) {
    to.vector(name + ".weight", width);
    to.vector(name + ".bias", width);
  };
  const auto layer = [](HfTensorList& to, const std::string& name, std::int64_t inputs,
                        std::int64_t outputs) {
    to.transposed(name + ".weight", inputs, {{name + ".weight", outputs}});
    to.vector(name + ".bias", outputs);
  };
  const std::string embeddings = "embeddings.", words = embeddings + "word_embeddings.weight";
  list.rows_of(words, std::string(family.hf_prefix) + words, model.vocab, vocab, width);
  list.matrix(embeddings + "position_embeddings.weight", model.first_position + positions, width);
  list.matrix(embeddings + "token_type_embeddings.weight", model.type_vocab, width);
  norm(list, embeddings + "LayerNorm");
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string block = fmt::format("encoder.layer.{}.", i), attention = block + "attention.",
                      self = attention + "self.";
    const auto parts = [&](const char* kind) -> std::vector<HfTensorList::Part> {
      return {{fmt::format("{}query.{}", self, kind), width},
              {fmt::format("{}key.{}", self, kind), width},
              {fmt::format("{}value.{}", self, kind), width}};
    };
    list.transposed(self + "qkv.weight", width, parts("weight"));
    list.vectors(self + "qkv.bias", parts("bias"));
    layer(list, attention + "output.dense", width, width);
    norm(list, attention + "output.LayerNorm");
    layer(list, block + "intermediate.dense", width, model.ffn);
    layer(list, block + "output.dense", model.ffn, width);
    norm(list, block + "output.LayerNorm");
  }
  layer(head, std::string(family.head_dense), width, width);
  norm(head, std::string(family.head_norm));
  const std::string bias(family.head_bias);
  head.first_of(bias, bias, model.vocab, vocab);
  std::vector<HfTensor> all = list.take();
  for (HfTensor& tensor : head.take()) all.push_back(std::move(tensor));
  return all;
}

namespace {

/// Adds a block's branches. `layer`: of the block, "encoder.block.0.layer.".
void add_t5_block(HfTensorList& list, const ModelConfig& model, const std::string& layer,
                  bool decodes) {
  const std::int64_t width = model.hidden, inner = model.heads * model.elements_of_head();
  const auto attention = [&](const std::string& name, bool is_cross) {
    const auto part = [&](const char* letter) {
      return HfTensorList::Part{fmt::format("{}{}.weight", name, letter), inner};
    };
    if (is_cross) {
      list.transposed(name + "q.weight", width, {part("q")});
      list.transposed(name + "kv.weight", width, {part("k"), part("v")});
    } else {
      list.transposed(name + "qkv.weight", width, {part("q"), part("k"), part("v")});
    }
    list.transposed(name + "o.weight", inner, {{name + "o.weight", width}});
  };
  attention(layer + "0.SelfAttention.", false);
  list.vector(layer + "0.layer_norm.weight", width);
  if (decodes) {
    attention(layer + "1.EncDecAttention.", true);
    list.vector(layer + "1.layer_norm.weight", width);
  }
  const std::string last = layer + (decodes ? "2." : "1."), dense = last + "DenseReluDense.",
                    wi = dense + "wi";
  if (model.activation == FeedForward::gated_gelu) {
    list.transposed(wi + ".weight", width,
                    {{wi + "_0.weight", model.ffn}, {wi + "_1.weight", model.ffn}});
  } else {
    list.transposed(wi + ".weight", width, {{wi + ".weight", model.ffn}});
  }
  list.transposed(dense + "wo.weight", model.ffn, {{dense + "wo.weight", width}});
  list.vector(last + "layer_norm.weight", width);
}

}  // namespace

std::vector<HfTensor> t5_tensors(const ModelConfig& model, std::int64_t vocab) {
  HfTensorList list("");
  const std::int64_t width = model.hidden;
  list.rows_of("shared.weight", "shared.weight", model.vocab, vocab, width);
  for (const bool decodes : {false, true}) {
    const std::string stack = decodes ? "decoder." : "encoder.";
    list.matrix(stack + "block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                model.relative_buckets, model.heads);
    const std::int64_t layers = decodes ? model.blocks_of_decoder() : model.layers;
    for (std::int64_t i = 0; i < layers; ++i)
      add_t5_block(list, model, fmt::format("{}block.{}.layer.", stack, i), decodes);
    list.vector(stack + "final_layer_norm.weight", width);
  }
  if (!model.tied) list.rows_of("lm_head.weight", "lm_head.weight", model.vocab, vocab, width);
  return list.take();
}

}  // namespace ds
