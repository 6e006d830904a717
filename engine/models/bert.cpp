// build_bert(): BERT's forward pass as ops. Every residual add is fused into the layer norm after
// it.
#include "engine/models/bert.h"

#include "engine/config/bert_family.h"
#include "engine/models/model_builder.h"

namespace ds {
namespace {

Activation activation_of(FeedForward activation) {
  if (activation == FeedForward::gelu_tanh) return Activation::gelu_tanh;
  return activation == FeedForward::relu ? Activation::relu : Activation::gelu_erf;
}

class Bert : public ModelBuilder {
 public:
  Bert(const ModelConfig& config, const ModelShape& shape)
      : ModelBuilder(config, shape),
        family_(*bert_family(config.arch)),
        activation_(activation_of(config.activation)) {}

  Program build() {
    add_inputs({.positions = config_.first_position + table_positions(),
                .first_position = config_.first_position,
                .always_positions = config_.first_position != 0,
                .token_types = config_.type_vocab});
    ValueId x = embed();
    for (std::int64_t i = 0; i < config_.layers; ++i) x = block(i, x);
    close_block();
    finish(x);
    program_.extents = extents();
    program_.extents.head_bias = true;
    return std::move(program_);
  }

 private:
  Layer layer(const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    const ValueId weight = parameter(name + ".weight", {inputs, outputs}, normal(kInitDeviation));
    return {weight, parameter(name + ".bias", {outputs}, zeros()), outputs};
  }

  ValueId table(const std::string& name, std::int64_t rows) {
    return parameter("embeddings." + name + ".weight", {rows, width_}, normal(kInitDeviation));
  }

  ValueId embed() {
    open_group("embed");
    words_ = table("word_embeddings", config_.vocab);
    const ValueId positions =
        table("position_embeddings", config_.first_position + table_positions());
    const ValueId types = table("token_type_embeddings", config_.type_vocab);
    const Norm norm = layer_norm("embeddings.LayerNorm");
    const ValueId out = activation("embed.out", {rows_, width_});
    std::vector<ValueId> in{program_.input(input::kTokens), words_, positions};
    add_if_given(in, program_.input(input::kPositions));
    emit(ops::Embed{}, "embed", std::move(in), {out});
    const ValueId typed = activation("embed.types.out", {rows_, width_});
    emit(ops::Embed{}, "embed.types", {program_.input(input::kTokenTypes), types, kNoValue},
         {typed});
    ValueId sum = out;  // read by nothing else
    return dropout("embed.dropout", layernorm("embed.ln", norm, sum, typed));
  }

  ValueId block(std::int64_t i, ValueId x) {
    const std::string path = fmt::format("block{}", i);
    const std::string name = fmt::format("encoder.layer.{}.", i);
    open_block(path);
    const Layer qkv = layer(name + "attention.self.qkv", width_, 3 * width_);
    const Layer proj = layer(name + "attention.output.dense", width_, width_);
    const Norm ln1 = layer_norm(name + "attention.output.LayerNorm");
    const Layer up = layer(name + "intermediate.dense", width_, config_.ffn);
    const Layer down = layer(name + "output.dense", config_.ffn, width_);
    const Norm ln2 = layer_norm(name + "output.LayerNorm");

    ValueId delta = attention(path + ".attn", linear_heads(path + ".attn.qkv", qkv, x),
                              {.ranges = ranges_, .causal = false});
    delta = dropout(path + ".attn.dropout", linear(path + ".attn.proj", proj, delta));
    x = layernorm(path + ".ln1", ln1, x, delta);  // the sum itself is read by nothing else
    delta =
        linear(path + ".mlp.down", down, linear_activated(path + ".mlp.fc", up, x, activation_));
    return layernorm(path + ".ln2", ln2, x, dropout(path + ".mlp.dropout", delta));
  }

  /// The head: a linear layer, its activation, a norm, and logits with the embedding and a bias.
  void finish(ValueId x) {
    open_group("head");
    const Layer dense = layer(std::string(family_.head_dense), width_, width_);
    const Norm norm = layer_norm(std::string(family_.head_norm));
    const ValueId bias = parameter(std::string(family_.head_bias), {config_.vocab}, zeros());
    const Activation of_head = family_.head_has_gelu ? Activation::gelu_erf : activation_;
    x = linear_activated("head.dense", dense, x, of_head);
    program_.final_activation = layernorm("head.ln", norm, x, kNoValue);
    head(words_, bias);
  }

  const BertFamily& family_;
  Activation activation_;
  ValueId words_ = kNoValue;
};

}  // namespace

Program build_bert(const ModelConfig& config, const ModelShape& shape) {
  return Bert(config, shape).build();
}

}  // namespace ds
