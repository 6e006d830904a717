// build_gpt2(): GPT-2's forward pass as ops. Every residual add is fused into the layer norm after
// it.
#include "engine/models/gpt2.h"

#include <cmath>

#include "engine/models/model_builder.h"

namespace ds {
namespace {

class Gpt2 : public ModelBuilder {
 public:
  Gpt2(const ModelConfig& config, const ModelShape& shape)
      : ModelBuilder(config, shape),
        residual_deviation_(kInitDeviation / std::sqrt(2.0F * static_cast<float>(config.layers))) {}

  Program build() {
    add_inputs({.positions = table_positions()});
    ValueId residual = embed();
    ValueId delta = kNoValue;  // what the next layer norm first adds to the residual
    for (std::int64_t i = 0; i < config_.layers; ++i) block(i, residual, delta);
    close_block();
    open_group("final");
    program_.final_activation = layernorm("final.ln", layer_norm("ln_f"), residual, delta);
    head(wte_);
    program_.extents = extents();
    return std::move(program_);
  }

 private:
  Layer layer(const std::string& name, std::int64_t inputs, std::int64_t outputs, float deviation) {
    const ValueId weight = parameter(name + ".weight", {inputs, outputs}, normal(deviation));
    return {weight, parameter(name + ".bias", {outputs}, zeros()), outputs};
  }

  ValueId embed() {
    open_group("embed");
    const ValueId wte = parameter("wte.weight", {config_.vocab, width_}, normal(kInitDeviation));
    const ValueId wpe = parameter("wpe.weight", {table_positions(), width_}, normal(kInitDeviation));
    wte_ = wte;
    const ValueId out = activation("embed.out", {rows_, width_});
    std::vector<ValueId> in{program_.input(input::kTokens), wte, wpe};
    add_if_given(in, program_.input(input::kPositions));
    emit(ops::Embed{}, "embed", std::move(in), {out});
    return dropout("embed.dropout", out);
  }

  void block(std::int64_t i, ValueId& residual, ValueId& delta) {
    const std::string path = fmt::format("block{}", i), name = fmt::format("h.{}", i);
    open_block(path);
    const Norm ln1 = layer_norm(name + ".ln_1");
    const Layer qkv = layer(name + ".attn.c_attn", width_, 3 * width_, kInitDeviation);
    const Layer proj = layer(name + ".attn.c_proj", width_, width_, residual_deviation_);
    const Norm ln2 = layer_norm(name + ".ln_2");
    const Layer fc = layer(name + ".mlp.c_fc", width_, config_.ffn, kInitDeviation);
    const Layer down = layer(name + ".mlp.c_proj", config_.ffn, width_, residual_deviation_);

    ValueId x = layernorm(path + ".ln1", ln1, residual, delta);
    x = attention(path + ".attn", linear_heads(path + ".attn.qkv", qkv, x));
    x = dropout(path + ".attn.dropout", linear(path + ".attn.proj", proj, x));
    x = layernorm(path + ".ln2", ln2, residual, x);
    x = linear_activated(path + ".mlp.fc", fc, x, Activation::gelu_tanh);
    delta = dropout(path + ".mlp.dropout", linear(path + ".mlp.proj", down, x));
  }

  float residual_deviation_;
  ValueId wte_ = kNoValue;
};

}  // namespace

Program build_gpt2(const ModelConfig& config, const ModelShape& shape) {
  return Gpt2(config, shape).build();
}

}  // namespace ds
