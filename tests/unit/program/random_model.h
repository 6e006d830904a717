// RandomModel: random forward programs for tests of properties of all programs: random ops,
// residuals across blocks, values used many times, a tied weight.
#pragma once

#include <random>

#include "engine/program/passes.h"

namespace ds::test {

class RandomModel {
 public:
  explicit RandomModel(unsigned seed) : random_(seed) {}

  Program build() {
    heads_ = 1 + below(2);
    width_ = heads_ * 4 * (1 + below(3));
    micro_ = 1 + below(2);
    positions_ = 2 + below(4);
    rows_ = micro_ * positions_;
    start();
    for (int block = 0, blocks = 1 + below(4); block < blocks; ++block) add_block(block);
    finish();
    return std::move(program_);
  }

 private:
  int below(std::int64_t n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  ValueId add(std::string name, ValueKind kind, Shape shape, DType dtype = DType::f32) {
    return program_.add_value(
        {.name = std::move(name), .kind = kind, .dtype = dtype, .shape = shape, .micro = 0});
  }
  Input make_input(const char* name, std::int64_t elements, DType dtype) {
    return {name, add(name, ValueKind::input, {elements}, dtype)};
  }
  ValueId activation(std::string name, Shape shape) {
    return add(std::move(name), ValueKind::activation, shape);
  }
  void emit(OpAttrs attrs, std::string path, std::vector<ValueId> in, std::vector<ValueId> out) {
    program_.ops.push_back({.attrs = std::move(attrs),
                            .path = std::move(path),
                            .micro = 0,
                            .in = std::move(in),
                            .out = std::move(out),
                            .block = block_,
                            .phase = Phase::forward});
  }

  void open_group(const std::string& name) {
    ParamGroup group;
    group.name = name;
    group.weights = program_.add_value(
        {.name = name + ".weights", .kind = ValueKind::parameter, .persistent = true});
    program_.groups.push_back(group);
  }
  ValueId parameter(const std::string& name, Shape shape) {
    ParamGroup& group = program_.groups.back();
    ParamTensor tensor{.name = name, .shape = shape, .offset = group.elements};
    tensor.weights = program_.add_value({.name = name,
                                         .kind = ValueKind::parameter,
                                         .shape = shape,
                                         .base = group.weights,
                                         .offset = group.elements});
    group.elements += (shape.elements() + kLeaf - 1) / kLeaf * kLeaf;
    program_.values[static_cast<std::size_t>(group.weights)].shape = {group.elements};
    group.tensors.push_back(tensor);
    return group.tensors.back().weights;
  }

  void start() {
    MicroBatch batch;
    batch.inputs.push_back(make_input(input::kTokens, rows_, DType::i32));
    batch.inputs.push_back(make_input(input::kTargets, rows_, DType::i32));
    batch.loss = add("loss", ValueKind::activation, {1}, DType::f64);
    batch.count = add("count", ValueKind::activation, {1}, DType::i64);
    batch.inputs.push_back(make_input(input::kSamples, micro_, DType::i64));
    program_.micro_batches = {batch};
    open_group("embed");
    wte_ = parameter("wte", {32, width_});
    const ValueId wpe = parameter("wpe", {positions_, width_});
    pool_ = {activation("embed.out", {rows_, width_})};
    emit(ops::Embed{}, "embed", {program_.input(input::kTokens), wte_, wpe}, {pool_[0]});
    unused_ = pool_;
  }

  // Returns any tensor so far, most often a recent one.
  ValueId any() {
    const std::size_t back = static_cast<std::size_t>(std::min(below(4), below(20)));
    const ValueId id = pool_[pool_.size() - 1 - std::min(back, pool_.size() - 1)];
    std::erase(unused_, id);
    return id;
  }
  void made(ValueId id) {
    pool_.push_back(id);
    unused_.push_back(id);
  }

  void add_block(int index) {
    const std::string block = fmt::format("block{}", index);
    open_group(block);
    block_ = index;
    for (int i = 0, ops = 1 + below(6); i < ops; ++i) {
      const std::string path = fmt::format("{}.op{}", block, i);
      const int kind = i == 0 ? below(3) : below(5);  // every group has a parameter
      if (kind == 0) add_norm(path);
      if (kind == 1) add_linear(path);
      if (kind == 2) add_attention(path);
      if (kind == 3) add_sum(path, any(), any());
      if (kind == 4) add_dropout(path);
    }
  }

  void add_norm(const std::string& path) {
    const ValueId in = any(), delta = below(3) > 0 ? any() : kNoValue;
    const bool sums = delta != kNoValue && delta != in;
    const ValueId sum = sums ? activation(path + ".sum", {rows_, width_}) : kNoValue;
    const ValueId out = activation(path + ".out", {rows_, width_});
    const ValueId mean = activation(path + ".mean", {rows_});
    const ValueId rstd = activation(path + ".rstd", {rows_});
    const ValueId weight = parameter(path + ".weight", {width_});
    const ValueId bias = parameter(path + ".bias", {width_});
    emit(ops::LayerNorm{}, path, {in, sums ? delta : kNoValue, weight, bias},
         {sum, out, mean, rstd});
    if (sums) pool_.push_back(sum);
    made(out);
  }

  void add_linear(const std::string& path) {
    const bool gelu = below(2) == 0;
    const ValueId in = any(), out = activation(path + ".out", {rows_, width_});
    const ValueId pre = gelu ? activation(path + ".pre", {rows_, width_}) : kNoValue;
    const ValueId weight = parameter(path + ".weight", {width_, width_});
    const ValueId bias = parameter(path + ".bias", {width_});
    emit(ops::Linear{.epilogue = gelu ? Linear::Epilogue::activation : Linear::Epilogue::none,
                     .activation = static_cast<Activation>(below(3))},
         path, {in, weight, bias}, {out, pre});
    made(out);
  }

  void add_attention(const std::string& path) {
    const ValueId in = any(), weight = parameter(path + ".weight", {width_, 3 * width_});
    const ValueId bias = parameter(path + ".bias", {3 * width_});
    const ValueId qkv =
        activation(path + ".qkv.out", {3, micro_, heads_, positions_, width_ / heads_});
    emit(ops::Linear{.epilogue = Linear::Epilogue::heads}, path + ".qkv", {in, weight, bias},
         {qkv, kNoValue});
    const ValueId out = activation(path + ".out", {rows_, width_});
    const ValueId lse = activation(path + ".lse", {micro_, heads_, positions_});
    if (below(2) == 0) {
      emit(ops::Attention{}, path, {qkv, kNoValue}, {out, lse});
    } else {
      emit(ops::Attention{.dropout = draw()}, path, {qkv, samples()}, {out, lse});
    }
    made(out);
  }

  [[nodiscard]] ValueId samples() const { return program_.input(input::kSamples); }
  DropoutAttrs draw() { return {.rate = 0.5F, .key = random_()}; }

  void add_dropout(const std::string& path) {
    const ValueId in = any(), out = activation(path + ".out", {rows_, width_});
    emit(ops::Dropout{draw()}, path, {in, samples()}, {out});
    made(out);
  }

  ValueId add_sum(const std::string& path, ValueId a, ValueId b) {
    const ValueId out = activation(path + ".out", {rows_, width_});
    emit(ops::Add{}, path, {a, b}, {out});
    made(out);
    return out;
  }

  // Makes every value reach the loss.
  void finish() {
    block_ = -1;
    ValueId last = pool_.back();
    std::erase(unused_, last);
    for (int i = 0; !unused_.empty(); ++i) {
      const ValueId other = unused_.back();
      unused_.pop_back();
      last = add_sum(fmt::format("end{}", i), last, other);
      std::erase(unused_, last);
    }
    program_.final_activation = last;
    const MicroBatch& batch = program_.micro_batches[0];
    emit(ops::HeadLoss{.valid_vocab = 30, .chunk_rows = rows_}, "head",
         {last, wte_, program_.input(input::kTargets)}, {batch.loss, batch.count});
  }

  std::mt19937_64 random_;
  std::int64_t heads_ = 1, width_ = 8, micro_ = 1, positions_ = 2, rows_ = 2;
  Program program_;
  ValueId wte_ = kNoValue;
  int block_ = -1;
  std::vector<ValueId> pool_, unused_;  // tensors (rows, width); those without a reader so far
};

}  // namespace ds::test
