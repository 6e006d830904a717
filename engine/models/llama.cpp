// build_llama(): the forward pass of Llama's family as ops. Every residual add is fused into the
// norm after it.
#include "engine/models/llama.h"

#include "engine/config/llama_family.h"
#include "engine/models/model_builder.h"

namespace ds {
namespace {

RotaryScaling scaling_of(const ModelConfig& config) {
  if (config.rope_scaling == RopeScaling::none) return {};
  return {.kind = static_cast<RotaryScaling::Kind>(config.rope_scaling),
          .factor = config.rope_factor,
          .low = config.rope_low,
          .high = config.rope_high,
          .trained = config.rope_trained};
}

class Llama : public ModelBuilder {
 public:
  using ModelBuilder::ModelBuilder;

  Program build() {
    add_inputs({});
    open_group("embed");
    const ValueId tokens =
        parameter("embed_tokens.weight", {config_.vocab, width_}, normal(kInitDeviation));
    ValueId residual = embed(tokens);
    ValueId delta = kNoValue;  // what the next norm first adds to the residual
    for (std::int64_t i = 0; i < config_.layers; ++i) block(i, residual, delta);
    close_block();
    open_group("final");
    program_.final_activation = rmsnorm("final.norm", norm("norm"), residual, delta);
    if (config_.tied) {
      head(tokens);
    } else {
      open_group("head");
      head(parameter("lm_head.weight", {config_.vocab, width_}, normal(kInitDeviation)));
    }
    program_.extents = extents();
    program_.extents.gated = true;
    return std::move(program_);
  }

 private:
  ValueId norm(const std::string& name) { return norm_parameter(name + ".weight", width_, ones()); }

  Layer layer(const std::string& name, std::int64_t inputs, std::int64_t outputs,
              bool has_bias = false) {
    const ValueId weight = parameter(name + ".weight", {inputs, outputs}, normal(kInitDeviation));
    return {weight, has_bias ? parameter(name + ".bias", {outputs}, zeros()) : kNoValue, outputs};
  }

  ValueId embed(ValueId weight) {
    const ValueId out = activation("embed.out", {rows_, width_});
    emit(ops::Embed{}, "embed", {program_.input(input::kTokens), weight, kNoValue}, {out});
    return dropout("embed.dropout", out);
  }

  /// Adds `delta`, if any, to the residual, which becomes the sum, and returns the norm of it.
  ValueId rmsnorm(const std::string& path, ValueId weight, ValueId& residual, ValueId delta) {
    const ValueId in = residual;
    ValueId sum = kNoValue;
    if (delta != kNoValue) sum = residual = activation(path + ".sum", {rows_, width_});
    const ValueId out = activation(path + ".out", {rows_, width_});
    const ValueId rstd = statistic(path + ".rstd", {rows_});
    emit(ops::RmsNorm{.eps = static_cast<float>(config_.norm_eps)}, path, {in, delta, weight},
         {sum, out, rstd});
    return out;
  }

  /// Returns the window of a layer's attention; 0 where it would hide no position.
  [[nodiscard]] std::int64_t window_of(std::int64_t layer) const {
    const bool is_full = layer < config_.full_layers || config_.window >= longest_text();
    return is_full ? 0 : config_.window;
  }

  /// Norms of the heads of queries and keys, whose weights the caller has added.
  ValueId head_norms(const std::string& path, ValueId qkv, ValueId q_norm, ValueId k_norm) {
    if (q_norm == kNoValue) return qkv;
    const ValueId out = activation(path + ".out", program_.value(qkv).shape);
    emit(ops::HeadNorm{.heads = config_.heads,
                       .kv_heads = fewer_kv_heads(),
                       .eps = static_cast<float>(config_.norm_eps)},
         path, {qkv, q_norm, k_norm}, {out});
    return out;
  }

  ValueId rotary(const std::string& path, ValueId qkv) {
    const ValueId out = activation(path + ".out", program_.value(qkv).shape);
    std::vector<ValueId> in{qkv};
    add_if_given(in, program_.input(input::kPositions));
    emit(ops::Rotary{.heads = config_.heads,
                     .kv_heads = fewer_kv_heads(),
                     .theta = static_cast<float>(config_.rope_theta),
                     .scaling = scaling_of(config_)},
         path, std::move(in), {out});
    return out;
  }

  ValueId swiglu(const std::string& path, ValueId in) {
    const ValueId out = activation(path + ".out", {rows_, config_.ffn});
    emit(ops::Glu{}, path, {in}, {out});
    return out;
  }

  void block(std::int64_t i, ValueId& residual, ValueId& delta) {
    const std::string path = fmt::format("block{}", i), name = fmt::format("layers.{}", i);
    open_block(path);
    const ValueId ln1 = norm(name + ".input_layernorm");
    const std::int64_t columns = (config_.heads + 2 * kv_heads()) * head_size();
    const LlamaFamily& traits = *llama_family(config_.arch);
    const auto head_norm = [&](const char* which) {
      const std::string norm_name = name + ".self_attn." + which + ".weight";
      return traits.head_norms ? norm_parameter(norm_name, head_size(), ones()) : kNoValue;
    };
    const Layer qkv = layer(name + ".self_attn.qkv_proj", width_, columns, traits.qkv_bias);
    const ValueId q_norm = head_norm("q_norm"), k_norm = head_norm("k_norm");
    const Layer proj = layer(name + ".self_attn.o_proj", config_.heads * head_size(), width_);
    const ValueId ln2 = norm(name + ".post_attention_layernorm");
    const Layer gate_up = layer(name + ".mlp.gate_up_proj", width_, 2 * config_.ffn);
    const Layer down = layer(name + ".mlp.down_proj", config_.ffn, width_);

    ValueId x = rmsnorm(path + ".ln1", ln1, residual, delta);
    x = linear_heads(path + ".attn.qkv", qkv, x);
    x = rotary(path + ".attn.rotary", head_norms(path + ".attn.norms", x, q_norm, k_norm));
    x = attention(path + ".attn", x, {.ranges = ranges_, .window = window_of(i)});
    x = dropout(path + ".attn.dropout", linear(path + ".attn.proj", proj, x));
    x = rmsnorm(path + ".ln2", ln2, residual, x);
    x = swiglu(path + ".mlp.swiglu", linear(path + ".mlp.gate_up", gate_up, x));
    delta = dropout(path + ".mlp.dropout", linear(path + ".mlp.down", down, x));
  }
};

}  // namespace

Program build_llama(const ModelConfig& config, const ModelShape& shape) {
  return Llama(config, shape).build();
}

}  // namespace ds
