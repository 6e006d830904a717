// ModelBuilder: values, parameters and shared ops of models.
#include "engine/models/model_builder.h"

#include <xxhash.h>

#include <algorithm>

namespace ds {
namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;  // whole numbers in f32
constexpr std::int64_t kMostDocuments = std::int64_t{1} << 31;  // numbers in i32

}  // namespace

ModelBuilder::ModelBuilder(const ModelConfig& config, const ModelShape& shape)
    : config_(config),
      shape_(shape),
      batch_(shape.micro),
      positions_(shape.seq_len),
      rows_(shape.micro * shape.seq_len),
      width_(config.hidden) {
  DS_ASSERT(config_.layers > 0 && config_.heads > 0);
  DS_ASSERT(config_.head_size != 0 || width_ % config_.heads == 0);
  DS_ASSERT(config_.heads % kv_heads() == 0);
  DS_ASSERT(shape_.valid_vocab > 0 && shape_.valid_vocab <= config_.vocab);
  DS_ASSERT(shape_.logits <= rows_ && (!decodes() || shape_.logits == batch_));
}

void ModelBuilder::add_inputs(const Reads& reads) {
  if (decodes()) return add_decode_inputs(reads);
  MicroBatch batch;
  const auto add_input = [&](const char* name, std::int64_t elements, std::int64_t limit,
                             DType dtype = DType::i32) {
    const ValueId value = add(name, ValueKind::input, dtype, {elements});
    batch.inputs.push_back({.name = name, .value = value, .limit = limit});
  };
  const DataFields& fields = shape_.fields;
  add_input(input::kTokens, rows_, shape_.valid_vocab);
  if (shape_.logits == 0) {
    add_input(input::kTargets, rows_, shape_.valid_vocab);
  } else if (shape_.logits < rows_) {
    add_input(input::kLast, shape_.logits, rows_);
  }
  const bool are_other = reads.always_positions || fields.positions || fields.documents;
  if (are_other && !reads.no_positions) {
    add_input(input::kPositions, rows_, reads.positions == 0 ? kMostPositions : reads.positions);
    batch.inputs.back().first = reads.first_position;
  }
  const bool has_documents = fields.documents || (reads.encoder && fields.encoder_documents);
  if (has_documents) add_input(input::kDocuments, rows_, kMostDocuments);
  if (reads.token_types > 0) add_input(input::kTokenTypes, rows_, reads.token_types);
  if (reads.encoder) {
    const std::int64_t encoder_rows = batch_ * fields.encoder_len;
    add_input(input::kEncoderTokens, encoder_rows, shape_.valid_vocab);
    if (has_documents) add_input(input::kEncoderDocuments, encoder_rows, kMostDocuments);
  }
  if (shape_.logits == 0) {
    batch.loss = add("loss", ValueKind::activation, DType::f64, {1});
    batch.count = add("count", ValueKind::activation, DType::i64, {1});
  }
  if (shape_.dropout > 0) add_input(input::kSamples, batch_, 0, DType::i64);
  program_.micro_batches.push_back(std::move(batch));
  ranges_ = key_ranges("ranges", program_.input(input::kDocuments));
}

ValueId ModelBuilder::key_ranges(const std::string& path, ValueId documents,
                                 ValueId key_documents) {
  if (documents == kNoValue) return kNoValue;
  const std::int64_t queries = program_.value(documents).shape[0] / batch_;
  const ValueId ranges =
      add(path + ".out", ValueKind::activation, DType::i32, {batch_, queries, 2});
  emit(ops::KeyRanges{}, path, {documents, key_documents}, {ranges});
  return ranges;
}

void ModelBuilder::add_decode_inputs(const Reads& reads) {
  MicroBatch batch;
  const auto add_input = [&](const char* name, Shape shape) {
    batch.inputs.push_back({.name = name, .value = add(name, ValueKind::input, DType::i32, shape)});
  };
  add_input(input::kTokens, {rows_});
  add_input(reads.no_positions ? input::kFirst : input::kPositions,
            {reads.no_positions ? 1 : rows_});
  add_input(input::kSlots, {rows_});
  add_input(input::kRanges, {batch_, positions_, 2});
  if (shape_.logits < rows_) add_input(input::kLast, {shape_.logits});
  if (reads.encoder) {
    add_input(input::kEncoderTokens, {batch_ * shape_.fields.encoder_len});
    add_input(input::kEncoderDocuments, {batch_ * shape_.fields.encoder_len});
    add_input(input::kCrossRanges, {batch_, positions_, 2});
  }
  program_.micro_batches.push_back(std::move(batch));
}

ValueId ModelBuilder::add(std::string name, ValueKind kind, DType dtype, Shape shape) {
  return program_.add_value(
      {.name = std::move(name), .kind = kind, .dtype = dtype, .shape = shape, .micro = 0});
}
ValueId ModelBuilder::activation(std::string name, Shape shape) {
  return add(std::move(name), ValueKind::activation, shape_.act, shape);
}
ValueId ModelBuilder::statistic(std::string name, Shape shape) {
  return add(std::move(name), ValueKind::activation, DType::f32, shape);
}

void ModelBuilder::open_group(std::string name) {
  ParamGroup group;
  group.weights = program_.add_value({.name = name + ".weights",
                                      .kind = ValueKind::parameter,
                                      .dtype = shape_.act,
                                      .persistent = true});
  group.name = std::move(name);
  program_.groups.push_back(std::move(group));
}

ValueId ModelBuilder::parameter(std::string name, Shape shape, ParamInit init) {
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

ValueId ModelBuilder::norm_parameter(std::string name, std::int64_t elements, ParamInit init) {
  const ValueId made = parameter(std::move(name), {elements}, init);
  program_.groups.back().tensors.back().is_norm = true;
  return made;
}

ModelBuilder::Norm ModelBuilder::layer_norm(const std::string& name) {
  const ValueId weight = norm_parameter(name + ".weight", width_, ones());
  return {weight, norm_parameter(name + ".bias", width_, zeros())};
}

void ModelBuilder::open_block(std::string name) {
  open_group(std::move(name));
  block_ = blocks_++;
}

void ModelBuilder::emit(OpAttrs attrs, std::string path, std::vector<ValueId> in,
                        std::vector<ValueId> out) {
  program_.ops.push_back({.attrs = std::move(attrs),
                          .path = std::move(path),
                          .micro = 0,
                          .in = std::move(in),
                          .out = std::move(out),
                          .block = block_,
                          .phase = Phase::forward});
}

ValueId ModelBuilder::linear(const std::string& path, const Layer& layer, ValueId in) {
  const ValueId out = activation(path + ".out", {program_.value(in).shape[0], layer.outputs});
  emit(ops::Linear{}, path, {in, layer.weight, layer.bias}, {out, kNoValue});
  return out;
}

ValueId ModelBuilder::linear_heads(const std::string& path, const Layer& layer, ValueId in) {
  return linear_heads(path, layer, in, config_.heads, kv_heads());
}

ValueId ModelBuilder::linear_heads(const std::string& path, const Layer& layer, ValueId in,
                                   std::int64_t heads, std::int64_t kv_heads) {
  const bool alike = heads == kv_heads;
  const std::int64_t together = alike ? heads : heads + 2 * kv_heads;
  const std::int64_t positions = program_.value(in).shape[0] / batch_;
  const ValueId out =
      activation(path + ".out", {alike ? 3 : 1, batch_, together, positions, head_size()});
  emit(ops::Linear{.epilogue = Linear::Epilogue::heads, .kv_heads = alike ? 0 : kv_heads}, path,
       {in, layer.weight, layer.bias}, {out, kNoValue});
  return out;
}

ValueId ModelBuilder::linear_activated(const std::string& path, const Layer& layer, ValueId in,
                                       Activation function) {
  const Shape shape{program_.value(in).shape[0], layer.outputs};
  const ValueId out = activation(path + ".out", shape);
  const ValueId pre = activation(path + ".pre", shape);
  emit(ops::Linear{.epilogue = Linear::Epilogue::activation, .activation = function}, path,
       {in, layer.weight, layer.bias}, {out, pre});
  return out;
}

ValueId ModelBuilder::layernorm(const std::string& path, const Norm& norm, ValueId& residual,
                                ValueId delta) {
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

DropoutAttrs ModelBuilder::draw(const std::string& path) const {
  if (shape_.dropout == 0) return {};
  return {.rate = static_cast<float>(shape_.dropout), .key = XXH3_64bits(path.data(), path.size())};
}

ValueId ModelBuilder::dropout(const std::string& path, ValueId in) {
  if (shape_.dropout == 0) return in;
  const ValueId out = activation(path + ".out", program_.value(in).shape);
  emit(ops::Dropout{draw(path)}, path, {in, program_.input(input::kSamples)}, {out});
  return out;
}

/// Returns the input with the ranges that queries see; with a window, only the last positions.
ValueId ModelBuilder::ranges_of(std::int64_t window) {
  if (window == 0) return program_.input(input::kRanges);
  std::vector<Input>& inputs = program_.micro_batches[0].inputs;
  const auto known = std::ranges::find(inputs, input::kWindowRanges, &Input::name);
  if (known != inputs.end()) {
    DS_ASSERT(known->limit == window, "the layers of a model have one window, or none");
    return known->value;
  }
  const ValueId value =
      add(input::kWindowRanges, ValueKind::input, DType::i32, {batch_, positions_, 2});
  inputs.push_back({.name = input::kWindowRanges, .value = value, .limit = window});
  return value;
}

/// Returns the queries alone, and lets them see the cache.
ValueId ModelBuilder::cached(const std::string& path, ValueId qkv, Sight& sight) {
  const ValueId cache =
      activation(path + ".cache", {1, batch_, 2 * kv_heads(), shape_.cache, head_size()});
  program_.values[static_cast<std::size_t>(cache)].kept = true;
  const ValueId queries =
      activation(path + ".queries", {1, batch_, config_.heads, positions_, head_size()});
  emit(ops::CacheKeys{.kv_heads = fewer_kv_heads()}, path + ".keys",
       {qkv, program_.input(input::kSlots), cache}, {queries, cache});
  sight.kv = cache;
  sight.ranges = ranges_of(sight.window);
  sight.causal = false;
  sight.window = 0;
  return queries;
}

ValueId ModelBuilder::attention(const std::string& path, ValueId qkv, Sight sight) {
  if (decodes() && sight.cached && sight.kv == kNoValue) qkv = cached(path, qkv, sight);
  const std::int64_t positions = program_.value(qkv).shape[3];
  const ValueId out = activation(path + ".out", {batch_ * positions, config_.heads * head_size()});
  const ValueId lse = statistic(path + ".lse", {batch_, config_.heads, positions});
  std::vector<ValueId> in{qkv, program_.input(input::kSamples), sight.kv, sight.ranges, sight.bias};
  while (in.size() > 2 && in.back() == kNoValue) in.pop_back();
  emit(ops::Attention{.dropout = draw(path),
                      .kv_heads = fewer_kv_heads(),
                      .causal = sight.causal,
                      .window = sight.window,
                      .scale = sight.scale},
       path, std::move(in), {out, lse});
  return out;
}

std::int64_t ModelBuilder::chunk_rows() const { return shape_.head.rows_of(rows_, config_.vocab); }

// As many rows as there are need no list.
void ModelBuilder::logits(ValueId weight, ValueId bias, float scale) {
  ValueId rows = program_.final_activation;
  const ValueId last = program_.input(input::kLast);
  if (last != kNoValue) {
    rows = activation("head.rows", {shape_.logits, width_});
    emit(ops::Embed{}, "head.rows", {last, program_.final_activation, kNoValue}, {rows});
  }
  program_.logits = statistic("logits", {shape_.logits, config_.vocab});
  std::vector<ValueId> in{rows, weight};
  add_if_given(in, bias);
  emit(ops::Logits{.scale = scale}, "head", std::move(in), {program_.logits});
}

void ModelBuilder::head(ValueId weight, ValueId bias, ops::HeadLoss attrs) {
  if (shape_.logits > 0) return logits(weight, bias, attrs.scale);
  const MicroBatch& batch = program_.micro_batches[0];
  std::vector<ValueId> in{program_.final_activation, weight, program_.input(input::kTargets)};
  if (bias != kNoValue) in.push_back(bias);
  attrs.valid_vocab = shape_.valid_vocab;
  attrs.chunk_rows = chunk_rows();
  attrs.sparse = shape_.few_targets;
  emit(attrs, "head", std::move(in), {batch.loss, batch.count});
}

Kernels::Extents ModelBuilder::extents() const {
  return {.micro = batch_,
          .seq_len = positions_,
          .width = width_,
          .heads = config_.heads,
          .ffn = config_.ffn,
          .vocab = config_.vocab,
          .chunk_rows = chunk_rows(),
          .kv_heads = fewer_kv_heads(),
          .head_size = config_.head_size,
          .key_len = shape_.cache,
          .head_sparse = shape_.few_targets,
          .act = shape_.act};
}

}  // namespace ds
