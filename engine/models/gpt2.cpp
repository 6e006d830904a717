// GPT-2's forward pass as ops: every residual add is fused into the layer norm that follows it.
#include "engine/models/gpt2.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace ds {
namespace {

constexpr float kInitDeviation = 0.02F;
ParamInit zeros() { return {.kind = ParamInit::Kind::zeros}; }
ParamInit ones() { return {.kind = ParamInit::Kind::ones}; }
ParamInit normal(float deviation) {
  return {.kind = ParamInit::Kind::normal, .standard_deviation = deviation};
}

class Gpt2 {
 public:
  Gpt2(const ModelConfig& config, const ModelShape& shape)
      : config_(config),
        shape_(shape),
        batch_(shape.micro),
        positions_(shape.seq_len),
        rows_(shape.micro * shape.seq_len),
        width_(config.hidden),
        residual_deviation_(kInitDeviation / std::sqrt(2.0F * static_cast<float>(config.layers))) {}

  Program build() {
    DS_ASSERT(config_.layers > 0 && config_.heads > 0 && width_ % config_.heads == 0);
    DS_ASSERT(shape_.valid_vocab > 0 && shape_.valid_vocab <= config_.vocab);
    add_inputs();
    ValueId residual = embed();
    ValueId delta = kNoValue;  // what the next layer norm adds to the residual first
    for (std::int64_t i = 0; i < config_.layers; ++i) block(i, residual, delta);
    final_norm_and_head(residual, delta);
    program_.extents = {.micro = batch_,
                        .seq_len = positions_,
                        .width = width_,
                        .heads = config_.heads,
                        .ffn = config_.ffn,
                        .vocab = config_.vocab,
                        .chunk_rows = shape_.head.rows_of(rows_, config_.vocab),
                        .act = shape_.act};
    return std::move(program_);
  }

 private:
  struct Norm {
    ValueId weight, bias;
  };
  struct Layer {
    ValueId weight, bias;
    std::int64_t outputs;
  };

  void add_inputs() {
    MicroBatch batch;
    batch.tokens = add("tokens", ValueKind::input, DType::i32, {rows_});
    batch.targets = add("targets", ValueKind::input, DType::i32, {rows_});
    batch.loss = add("loss", ValueKind::activation, DType::f64, {1});
    batch.count = add("count", ValueKind::activation, DType::i64, {1});
    if (shape_.dropout > 0) batch.samples = add("samples", ValueKind::input, DType::i64, {batch_});
    program_.micro_batches.push_back(batch);
  }

  ValueId add(std::string name, ValueKind kind, DType dtype, Shape shape) {
    return program_.add_value(
        {.name = std::move(name), .kind = kind, .dtype = dtype, .shape = shape, .micro = 0});
  }
  ValueId activation(std::string name, Shape shape) {
    return add(std::move(name), ValueKind::activation, shape_.act, shape);
  }
  ValueId statistic(std::string name, Shape shape) {
    return add(std::move(name), ValueKind::activation, DType::f32, shape);
  }

  // --- parameters: a group is opened, filled and closed before its ops are emitted ---
  void open_group(std::string name) {
    ParamGroup group;
    group.weights = program_.add_value({.name = name + ".weights",
                                        .kind = ValueKind::parameter,
                                        .dtype = shape_.act,
                                        .persistent = true});
    group.name = std::move(name);
    program_.groups.push_back(std::move(group));
  }

  ValueId parameter(std::string name, Shape shape, ParamInit init) {
    ParamGroup& group = program_.groups.back();
    ParamTensor tensor{.name = name, .shape = shape, .offset = group.elements, .init = init};
    tensor.weights = program_.add_value({.name = std::move(name),
                                         .kind = ValueKind::parameter,
                                         .dtype = shape_.act,
                                         .shape = shape,
                                         .base = group.weights,
                                         .offset = group.elements});
    group.elements += (shape.elements() + kLeaf - 1) / kLeaf * kLeaf;
    program_.values[static_cast<std::size_t>(group.weights)].shape = {group.elements};
    group.tensors.push_back(tensor);
    return group.tensors.back().weights;
  }

  Norm norm(const std::string& name) {
    const ValueId weight = parameter(name + ".weight", {width_}, ones());
    return {weight, parameter(name + ".bias", {width_}, zeros())};
  }

  Layer layer(const std::string& name, std::int64_t inputs, std::int64_t outputs, float deviation) {
    const ValueId weight = parameter(name + ".weight", {inputs, outputs}, normal(deviation));
    return {weight, parameter(name + ".bias", {outputs}, zeros()), outputs};
  }

  // --- ops ---
  void emit(OpCode code, std::string path, std::vector<ValueId> in, std::vector<ValueId> out,
            const OpAttrs& attrs = {}) {
    program_.ops.push_back({.code = code,
                            .path = std::move(path),
                            .micro = 0,
                            .in = std::move(in),
                            .out = std::move(out),
                            .attrs = attrs});
  }

  ValueId embed() {
    open_group("embed");
    const ValueId wte = parameter("wte.weight", {config_.vocab, width_}, normal(kInitDeviation));
    const ValueId wpe = parameter("wpe.weight", {positions_, width_}, normal(kInitDeviation));
    wte_ = wte;
    const ValueId out = activation("embed.out", {rows_, width_});
    emit(OpCode::embed, "embed", {program_.micro_batches[0].tokens, wte, wpe}, {out});
    return dropout("embed.dropout", out);
  }

  /// residual += delta (if any), then the norm of it. The sum is the new residual.
  ValueId layernorm(const std::string& path, const Norm& norm, ValueId& residual, ValueId delta) {
    const ValueId in = residual;
    ValueId sum = kNoValue;
    if (delta != kNoValue) sum = residual = activation(path + ".sum", {rows_, width_});
    const ValueId out = activation(path + ".out", {rows_, width_});
    const ValueId mean = statistic(path + ".mean", {rows_});
    const ValueId rstd = statistic(path + ".rstd", {rows_});
    emit(OpCode::layernorm, path, {in, delta, norm.weight, norm.bias}, {sum, out, mean, rstd});
    return out;
  }

  ValueId linear(const std::string& path, const Layer& layer, ValueId in) {
    const ValueId out = activation(path + ".out", {rows_, layer.outputs});
    emit(OpCode::linear, path, {in, layer.weight, layer.bias}, {out, kNoValue});
    return out;
  }

  ValueId linear_gelu(const std::string& path, const Layer& layer, ValueId in) {
    const ValueId out = activation(path + ".out", {rows_, layer.outputs});
    const ValueId pre = activation(path + ".pre", {rows_, layer.outputs});
    emit(OpCode::linear, path, {in, layer.weight, layer.bias}, {out, pre},
         {.epilogue = Linear::Epilogue::gelu});
    return out;
  }

  ValueId linear_heads(const std::string& path, const Layer& layer, ValueId in) {
    const ValueId out =
        activation(path + ".out", {3, batch_, config_.heads, positions_, width_ / config_.heads});
    emit(OpCode::linear, path, {in, layer.weight, layer.bias}, {out, kNoValue},
         {.epilogue = Linear::Epilogue::heads});
    return out;
  }

  [[nodiscard]] OpAttrs draw(const std::string& path) const {
    return {.dropout = {.rate = static_cast<float>(shape_.dropout),
                        .key = XXH3_64bits(path.data(), path.size())}};
  }

  ValueId dropout(const std::string& path, ValueId in) {
    if (shape_.dropout == 0) return in;
    const ValueId out = activation(path + ".out", program_.value(in).shape);
    emit(OpCode::dropout, path, {in, program_.micro_batches[0].samples}, {out}, draw(path));
    return out;
  }

  ValueId attention(const std::string& path, ValueId qkv) {
    const ValueId out = activation(path + ".out", {rows_, width_});
    const ValueId lse = statistic(path + ".lse", {batch_, config_.heads, positions_});
    if (shape_.dropout == 0) {
      emit(OpCode::attention, path, {qkv}, {out, lse});
    } else {
      emit(OpCode::attention, path, {qkv, program_.micro_batches[0].samples}, {out, lse},
           draw(path));
    }
    return out;
  }

  void block(std::int64_t i, ValueId& residual, ValueId& delta) {
    const std::string path = fmt::format("block{}", i), name = fmt::format("h.{}", i);
    open_group(path);
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

  void final_norm_and_head(ValueId residual, ValueId delta) {
    open_group("final");
    const Norm ln_f = norm("ln_f");
    program_.final_activation = layernorm("final.ln", ln_f, residual, delta);
    const MicroBatch& batch = program_.micro_batches[0];
    emit(OpCode::head_loss, "head", {program_.final_activation, wte_, batch.targets},
         {batch.loss, batch.count},
         {.valid_vocab = shape_.valid_vocab,
          .chunk_rows = shape_.head.rows_of(rows_, config_.vocab)});
  }

  const ModelConfig& config_;
  const ModelShape& shape_;
  std::int64_t batch_, positions_, rows_, width_;
  float residual_deviation_;
  ValueId wte_ = kNoValue;
  Program program_;
};

}  // namespace

Program build_gpt2(const ModelConfig& config, const ModelShape& shape) {
  return Gpt2(config, shape).build();
}

}  // namespace ds
