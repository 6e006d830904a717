// build_t5(): T5's forward pass as ops. Every residual add is fused into the norm after it, except
// in fp16, where the sum is kept finite first.
#include "engine/models/t5.h"

#include <algorithm>
#include <cmath>

#include "engine/models/model_builder.h"

namespace ds {
namespace {

float root(std::int64_t x) { return std::sqrt(static_cast<float>(x)); }

class T5 : public ModelBuilder {
 public:
  T5(const ModelConfig& config, const ModelShape& shape)
      : ModelBuilder(config, shape),
        encoder_len_(shape.fields.encoder_len),
        inner_(config.heads * config.elements_of_head()),
        gated_(config.activation == FeedForward::gated_gelu) {
    DS_ASSERT(encoder_len_ > 0, "the config gives a model with an encoder its length");
  }

  Program build() {
    add_inputs({.no_positions = true, .encoder = true});
    const ValueId documents = program_.input(input::kDocuments);
    const ValueId encoder_documents = program_.input(input::kEncoderDocuments);
    const ValueId encoder_ranges = key_ranges("encoder.ranges", encoder_documents);
    cross_ranges_ = decodes() ? program_.input(input::kCrossRanges)
                              : key_ranges("cross.ranges", documents, encoder_documents);

    open_group("embed");
    shared_ = parameter("shared.weight", {config_.vocab, width_}, normal(1));
    const ValueId encoder_table = bias_table("encoder"), decoder_table = bias_table("decoder");
    encoded_ = stack({.name = "encoder",
                      .tokens = program_.input(input::kEncoderTokens),
                      .layers = config_.layers,
                      .sight = {.ranges = encoder_ranges,
                                .bias = bias("encoder", encoder_table, encoder_len_),
                                .causal = false,
                                .scale = 1,
                                .cached = false}});
    program_.final_activation = stack(
        {.name = "decoder",
         .tokens = program_.input(input::kTokens),
         .layers = config_.blocks_of_decoder(),
         .sight = {
             .ranges = ranges_, .bias = decoder_bias(decoder_table), .causal = true, .scale = 1}});
    finish();
    return std::move(program_);
  }

 private:
  /// An encoder or a decoder; `sight` is that of its self-attention.
  struct Stack {
    std::string name;
    ValueId tokens;
    std::int64_t layers;
    Sight sight;
  };

  /// The residual, and what the next norm first adds to it.
  struct Residual {
    ValueId sum, delta = kNoValue;
  };

  [[nodiscard]] bool is_decoder(const Stack& stack) const { return stack.name == "decoder"; }

  Layer layer(const std::string& name, std::int64_t inputs, std::int64_t outputs, ParamInit init) {
    return {parameter(name + ".weight", {inputs, outputs}, init), kNoValue, outputs};
  }

  ValueId bias_table(const std::string& stack) {
    const std::string name =
        stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight";
    return parameter(name, {config_.relative_buckets, config_.heads}, normal(1 / root(width_)));
  }

  /// Emits the bias that all blocks of a stack of `length` tokens add to their scores. It belongs
  /// to no block, since every one reads it.
  ValueId bias(const std::string& stack, ValueId table, std::int64_t length) {
    const ValueId out = statistic(stack + ".bias.out", {config_.heads, 2 * length - 1});
    emit(ops::RelativeBias{.max_distance = config_.relative_distance,
                           .bidirectional = stack == "encoder"},
         stack + ".bias", {table, kNoValue}, {out});
    return out;
  }

  /// The same for the decoder. Its queries see the cache where the program decodes.
  ValueId decoder_bias(ValueId table) {
    if (!decodes()) return bias("decoder", table, positions_);
    const ValueId out =
        statistic("decoder.bias.out", {config_.heads, positions_ + shape_.cache - 1});
    emit(ops::RelativeBias{.queries = positions_,
                           .max_distance = config_.relative_distance,
                           .bidirectional = false},
         "decoder.bias", {table, program_.input(input::kFirst)}, {out});
    return out;
  }

  /// Emits a stack and returns its last norm, with dropout.
  ValueId stack(const Stack& stack) {
    const ValueId embedded =
        activation(stack.name + ".embed.out", {program_.value(stack.tokens).shape[0], width_});
    emit(ops::Embed{}, stack.name + ".embed", {stack.tokens, shared_, kNoValue}, {embedded});
    Residual residual{.sum = dropout(stack.name + ".embed.dropout", embedded)};
    for (std::int64_t i = 0; i < stack.layers; ++i) block(stack, i, residual);
    close_block();
    open_group(stack.name + ".final");
    const ValueId weight = norm_parameter(stack.name + ".final_layer_norm.weight", width_, ones());
    return dropout(stack.name + ".final.dropout",
                   rmsnorm(stack.name + ".final.norm", weight, residual));
  }

  /// Replaces the residual by the finite sum of both its parts.
  void add_finitely(const std::string& path, Residual& residual) {
    const Shape shape = program_.value(residual.sum).shape;
    const ValueId sum = activation(path + ".add.out", shape);
    emit(ops::Add{}, path + ".add", {residual.sum, residual.delta}, {sum});
    const ValueId finite = activation(path + ".finite.out", shape);
    emit(ops::Activate{Activation::finite}, path + ".finite", {sum}, {finite});
    residual = {.sum = finite};
  }

  ValueId rmsnorm(const std::string& path, ValueId weight, Residual& residual) {
    if (shape_.act == DType::f16 && residual.delta != kNoValue) add_finitely(path, residual);
    const Shape shape = program_.value(residual.sum).shape;
    const ValueId in = residual.sum;
    ValueId sum = kNoValue;
    if (residual.delta != kNoValue) sum = residual.sum = activation(path + ".sum", shape);
    const ValueId out = activation(path + ".out", shape);
    const ValueId rstd = statistic(path + ".rstd", {shape[0]});
    emit(ops::RmsNorm{.eps = static_cast<float>(config_.norm_eps)}, path,
         {in, residual.delta, weight}, {sum, out, rstd});
    residual.delta = kNoValue;
    return out;
  }

  /// The parameters of one branch: its norm and up to three layers.
  struct Branch {
    ValueId norm;
    Layer first, second{}, last{};
  };

  ValueId norm_of(const std::string& name) {
    return norm_parameter(name + "layer_norm.weight", width_, ones());
  }

  Branch self_attention(const std::string& name) {
    const std::string attention = name + "SelfAttention.";
    ParamInit init = normal(1 / root(width_));
    init.first_columns = inner_;
    init.factor = 1 / root(head_size());
    const Layer qkv = layer(attention + "qkv", width_, 3 * inner_, init);
    const Layer proj = layer(attention + "o", inner_, width_, normal(1 / root(inner_)));
    return {.norm = norm_of(name), .first = qkv, .last = proj};
  }

  Branch cross_attention(const std::string& name) {
    const std::string attention = name + "EncDecAttention.";
    const Layer q = layer(attention + "q", width_, inner_, normal(1 / root(width_ * head_size())));
    const Layer kv = layer(attention + "kv", width_, 2 * inner_, normal(1 / root(width_)));
    const Layer proj = layer(attention + "o", inner_, width_, normal(1 / root(inner_)));
    return {.norm = norm_of(name), .first = q, .second = kv, .last = proj};
  }

  Branch feed_forward(const std::string& name) {
    const std::string dense = name + "DenseReluDense.";
    const std::int64_t columns = gated_ ? 2 * config_.ffn : config_.ffn;
    const Layer up = layer(dense + "wi", width_, columns, normal(1 / root(width_)));
    const Layer down = layer(dense + "wo", config_.ffn, width_, normal(1 / root(config_.ffn)));
    return {.norm = norm_of(name), .first = up, .last = down};
  }

  void block(const Stack& stack, std::int64_t i, Residual& residual) {
    const std::string path = fmt::format("{}.block{}", stack.name, i);
    const std::string name = fmt::format("{}.block.{}.layer.", stack.name, i);
    open_block(path);
    const Branch self = self_attention(name + "0.");
    const Branch cross = is_decoder(stack) ? cross_attention(name + "1.") : Branch{};
    const Branch mlp = feed_forward(name + (is_decoder(stack) ? "2." : "1."));
    attend(path, self, stack.sight, residual);
    if (is_decoder(stack)) attend_across(path, cross, residual);
    feed(path, mlp, residual);
  }

  void attend(const std::string& path, const Branch& branch, const Sight& sight,
              Residual& residual) {
    const std::string attn = path + ".attn";
    const ValueId x = rmsnorm(path + ".ln1", branch.norm, residual);
    const ValueId seen = attention(attn, linear_heads(attn + ".qkv", branch.first, x), sight);
    residual.delta = dropout(attn + ".dropout", linear(attn + ".proj", branch.last, seen));
  }

  void attend_across(const std::string& path, const Branch& branch, Residual& residual) {
    const std::string cross = path + ".cross";
    const ValueId x = rmsnorm(path + ".ln2", branch.norm, residual);
    const ValueId q = linear_heads(cross + ".q", branch.first, x, config_.heads, 0);
    const ValueId kv = linear_heads(cross + ".kv", branch.second, encoded_, 0, config_.heads);
    program_.values[static_cast<std::size_t>(kv)].kept = decodes();
    const ValueId seen =
        attention(cross, q, {.kv = kv, .ranges = cross_ranges_, .causal = false, .scale = 1});
    residual.delta = dropout(cross + ".dropout", linear(cross + ".proj", branch.last, seen));
  }

  void feed(const std::string& path, const Branch& branch, Residual& residual) {
    const std::string mlp = path + ".mlp";
    ValueId x = rmsnorm(path + ".ln3", branch.norm, residual);
    if (gated_) {
      const ValueId both = linear(mlp + ".up", branch.first, x);
      x = activation(mlp + ".gate.out", {program_.value(x).shape[0], config_.ffn});
      emit(ops::Glu{Activation::gelu_tanh}, mlp + ".gate", {both}, {x});
    } else {
      x = linear_activated(mlp + ".up", branch.first, x, Activation::relu);
    }
    x = linear(mlp + ".down", branch.last, dropout(mlp + ".inner.dropout", x));
    residual.delta = dropout(mlp + ".dropout", x);
  }

  void finish() {
    const float scale = config_.scaled ? 1 / root(width_) : 1;
    ValueId weight = shared_;
    if (!config_.tied) {
      open_group("head");
      weight = parameter("lm_head.weight", {config_.vocab, width_}, normal(1));
    }
    head(weight, kNoValue, {.scale = scale});
    program_.extents = extents();
    program_.extents.seq_len = std::max(positions_, encoder_len_);
    program_.extents.key_len = std::max(program_.extents.seq_len, shape_.cache);
    program_.extents.gated = gated_;
    program_.extents.head_scaled = config_.scaled;
  }

  std::int64_t encoder_len_, inner_;
  bool gated_;
  ValueId shared_ = kNoValue, encoded_ = kNoValue, cross_ranges_ = kNoValue;
};

}  // namespace

Program build_t5(const ModelConfig& config, const ModelShape& shape) {
  return T5(config, shape).build();
}

}  // namespace ds
