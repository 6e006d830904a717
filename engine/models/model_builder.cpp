// ModelBuilder: values, parameters and shared ops of models.
#include "engine/models/model_builder.h"

#include <xxhash.h>

namespace ds {

ModelBuilder::ModelBuilder(const ModelConfig& config, const ModelShape& shape)
    : config_(config),
      shape_(shape),
      batch_(shape.micro),
      positions_(shape.seq_len),
      rows_(shape.micro * shape.seq_len),
      width_(config.hidden) {
  DS_ASSERT(config_.layers > 0 && config_.heads > 0 && width_ % config_.heads == 0);
  DS_ASSERT(config_.heads % kv_heads() == 0);
  DS_ASSERT(shape_.valid_vocab > 0 && shape_.valid_vocab <= config_.vocab);
}

void ModelBuilder::add_inputs() {
  MicroBatch batch;
  batch.tokens = add("tokens", ValueKind::input, DType::i32, {rows_});
  batch.targets = add("targets", ValueKind::input, DType::i32, {rows_});
  batch.loss = add("loss", ValueKind::activation, DType::f64, {1});
  batch.count = add("count", ValueKind::activation, DType::i64, {1});
  if (shape_.dropout > 0) batch.samples = add("samples", ValueKind::input, DType::i64, {batch_});
  program_.micro_batches.push_back(batch);
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

void ModelBuilder::emit(OpCode code, std::string path, std::vector<ValueId> in,
                        std::vector<ValueId> out, const OpAttrs& attrs) {
  program_.ops.push_back({.code = code,
                          .path = std::move(path),
                          .micro = 0,
                          .in = std::move(in),
                          .out = std::move(out),
                          .attrs = attrs});
}

ValueId ModelBuilder::linear(const std::string& path, const Layer& layer, ValueId in) {
  const ValueId out = activation(path + ".out", {rows_, layer.outputs});
  emit(OpCode::linear, path, {in, layer.weight, layer.bias}, {out, kNoValue});
  return out;
}

ValueId ModelBuilder::linear_heads(const std::string& path, const Layer& layer, ValueId in) {
  const std::int64_t fewer = fewer_kv_heads();
  const std::int64_t together = fewer == 0 ? config_.heads : config_.heads + 2 * fewer;
  const ValueId out =
      activation(path + ".out", {fewer == 0 ? 3 : 1, batch_, together, positions_, head_size()});
  emit(OpCode::linear, path, {in, layer.weight, layer.bias}, {out, kNoValue},
       {.epilogue = Linear::Epilogue::heads, .heads = {.kv_heads = fewer}});
  return out;
}

OpAttrs ModelBuilder::draw(const std::string& path) const {
  if (shape_.dropout == 0) return {};
  return {.dropout = {.rate = static_cast<float>(shape_.dropout),
                      .key = XXH3_64bits(path.data(), path.size())}};
}

ValueId ModelBuilder::dropout(const std::string& path, ValueId in) {
  if (shape_.dropout == 0) return in;
  const ValueId out = activation(path + ".out", program_.value(in).shape);
  emit(OpCode::dropout, path, {in, program_.micro_batches[0].samples}, {out}, draw(path));
  return out;
}

ValueId ModelBuilder::attention(const std::string& path, ValueId qkv) {
  const ValueId out = activation(path + ".out", {rows_, width_});
  const ValueId lse = statistic(path + ".lse", {batch_, config_.heads, positions_});
  std::vector<ValueId> in{qkv};
  if (shape_.dropout > 0) in.push_back(program_.micro_batches[0].samples);
  OpAttrs attrs = draw(path);
  attrs.heads.kv_heads = fewer_kv_heads();
  emit(OpCode::attention, path, std::move(in), {out, lse}, attrs);
  return out;
}

std::int64_t ModelBuilder::chunk_rows() const { return shape_.head.rows_of(rows_, config_.vocab); }

void ModelBuilder::head(ValueId weight) {
  const MicroBatch& batch = program_.micro_batches[0];
  emit(OpCode::head_loss, "head", {program_.final_activation, weight, batch.targets},
       {batch.loss, batch.count}, {.valid_vocab = shape_.valid_vocab, .chunk_rows = chunk_rows()});
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
          .act = shape_.act};
}

}  // namespace ds
