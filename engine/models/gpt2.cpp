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
    program_.final_activation = layernorm("final.ln", norm("ln_f"), residual, delta);
    head(wte_);
    program_.extents = extents();
    return std::move(program_);
  }

 private:
  struct Norm {
    ValueId weight, bias;
  };

  Norm norm(const std::string& name) {
    const ValueId weight = norm_parameter(name + ".weight", ones());
    return {weight, norm_parameter(name + ".bias", zeros())};
  }

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

  /// Adds `delta`, if any, to the residual, which becomes the sum, and returns the norm of it.
  ValueId layernorm(const std::string& path, const Norm& norm, ValueId& residual, ValueId delta) {
    const ValueId in = residual;
    ValueId sum = kNoValue;
    if (delta != kNoValue) sum = residual = activation(path + ".sum", {rows_, width_});
    const ValueId out = activation(path + ".out", {rows_, width_});
    const ValueId mean = statistic(path + ".mean", {rows_});
    const ValueId rstd = statistic(path + ".rstd", {rows_});
    emit(ops::LayerNorm{.eps = static_cast<float>(config_.norm_eps)}, path,
         {in, delta, norm.weight, norm.bias}, {sum, out, mean, rstd});
    return out;
  }

  ValueId linear_gelu(const std::string& path, const Layer& layer, ValueId in) {
    const ValueId out = activation(path + ".out", {rows_, layer.outputs});
    const ValueId pre = activation(path + ".pre", {rows_, layer.outputs});
    emit(ops::Linear{.epilogue = Linear::Epilogue::gelu}, path, {in, layer.weight, layer.bias},
         {out, pre});
    return out;
  }

  void block(std::int64_t i, ValueId& residual, ValueId& delta) {
    const std::string path = fmt::format("block{}", i), name = fmt::format("h.{}", i);
    open_block(path);
    const Norm ln1 = norm(name + ".ln_1");
    const Layer qkv = layer(name + ".attn.c_attn", width_, 3 * width_, kInitDeviation);
    const Layer proj = layer(name + ".attn.c_proj", width_, width_, residual_deviation_);
    const Norm ln2 = norm(name + ".ln_2");
    const Layer fc = layer(name + ".mlp.c_fc", width_, config_.ffn, kInitDeviation);
    const Layer down = layer(name + ".mlp.c_proj", config_.ffn, width_, residual_deviation_);

    ValueId x = layernorm(path + ".ln1", ln1, residual, delta);
    x = attention(path + ".attn", linear_heads(path + ".attn.qkv", qkv, x));
    x = dropout(path + ".attn.dropout", linear(path + ".attn.proj", proj, x));
    x = layernorm(path + ".ln2", ln2, residual, x);
    x = linear_gelu(path + ".mlp.fc", fc, x);
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
