// Tests of NonFiniteHunt: names the first op that makes or reads numbers that are not finite, for
// all types.
#include "engine/program/non_finite.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Two linear ops in a row: in, w0 -> mid; mid, w1 -> out.
struct TwoLayers {
  ds::Program program;
  std::vector<std::vector<float>> memory;
  ds::ValueId in, w0, mid, w1, out;

  TwoLayers() {
    in = add("in", ds::ValueKind::activation);
    w0 = add("h.0.weight", ds::ValueKind::parameter);
    mid = add("mid", ds::ValueKind::activation);
    w1 = add("h.1.weight", ds::ValueKind::parameter);
    out = add("out", ds::ValueKind::activation);
    program.ops.push_back({.attrs = ds::ops::Linear{},
                           .path = "block0.fc",
                           .in = {in, w0},
                           .out = {ds::kNoValue, mid}});
    program.ops.push_back(
        {.attrs = ds::ops::Linear{}, .path = "block1.fc", .in = {mid, w1}, .out = {out}});
  }
  ds::ValueId add(const char* name, ds::ValueKind kind) {
    memory.emplace_back(6, 1.0F);
    return program.add_value({.name = name, .kind = kind, .shape = {2, 3}});
  }
  float& at(ds::ValueId id, std::size_t element) {
    return memory[static_cast<std::size_t>(id)][element];
  }
  ds::Tensor tensor(ds::ValueId id) {
    return {memory[static_cast<std::size_t>(id)].data(), ds::DType::f32, {2, 3}};
  }
  std::string finding() {
    ds::NonFiniteHunt hunt(program, [this](ds::ValueId id) { return tensor(id); });
    for (std::size_t op = 0; op < program.ops.size(); ++op) hunt.look(op);
    return hunt.finding();
  }
};

}  // namespace

TEST_CASE("finite numbers give no finding, and the first op that makes others is named") {
  TwoLayers layers;
  CHECK(layers.finding().empty());
  layers.at(layers.out, 2) = kNan;
  CHECK(layers.finding() ==
        "block1.fc made out: 1 of 6 numbers are not finite, the first at 2: nan");
  layers.at(layers.mid, 4) = layers.at(layers.mid, 5) = -kInf;
  CHECK(layers.finding() ==
        "block0.fc made mid: 2 of 6 numbers are not finite, the first at 4: -inf");
}

TEST_CASE("weights that are already not finite are named before the results that they affect") {
  TwoLayers layers;
  layers.at(layers.w1, 0) = kInf;
  layers.at(layers.out, 0) = kInf;
  CHECK(layers.finding() ==
        "block1.fc read h.1.weight: 1 of 6 numbers are not finite, the first at 0: inf");
}

TEST_CASE("ops that only move or sum other ops' results are not named, on any stream") {
  TwoLayers layers;
  const ds::ValueId last_gradient = layers.add("block0.grad", ds::ValueKind::gradient);
  const ds::ValueId gathered = layers.add("block0.weights#0", ds::ValueKind::activation);
  layers.at(last_gradient, 0) = kNan;  // left over from the step that is repeated
  layers.at(gathered, 5) = kNan;       // not gathered yet: part of the next bucket
  const std::vector<ds::Op> moves{
      {.attrs = ds::ops::Copy{},
       .path = "grad_out.block0.tile0",
       .in = {last_gradient},
       .out = {last_gradient},
       .group = 0},
      {.attrs = ds::ops::AllGather{}, .path = "gather.block0", .out = {gathered}, .group = 0}};
  layers.program.ops.insert(layers.program.ops.begin(), moves.begin(), moves.end());
  CHECK(layers.finding().empty());
  layers.at(layers.mid, 4) = kInf;
  CHECK(layers.finding() ==
        "block0.fc made mid: 1 of 6 numbers are not finite, the first at 4: inf");
}

TEST_CASE("plant_nan writes to the first output of the op with that path") {
  TwoLayers layers;
  for (const ds::Op& op : layers.program.ops) {
    ds::plant_nan(op, "block0.fc", [&](ds::ValueId id) { return layers.tensor(id); });
  }
  CHECK(layers.finding().starts_with("block0.fc made mid: 1 of 6"));
}

TEST_CASE("all types of numbers are read") {
  const auto count = [](auto number, ds::DType dtype) {
    decltype(number) data[] = {number, decltype(number){}, number};
    return ds::count_non_finite({data, dtype, {3}}).count;
  };
  CHECK(count(ds::bf16_from_float(kInf), ds::DType::bf16) == 2);
  CHECK(count(ds::bf16_from_float(3e38F), ds::DType::bf16) == 0);
  CHECK(count(ds::f16_from_float(70000.0F), ds::DType::f16) == 2);
  CHECK(count(ds::f16_from_float(65504.0F), ds::DType::f16) == 0);
  CHECK(count(double{kNan}, ds::DType::f64) == 2);
  CHECK(count(std::int32_t{7}, ds::DType::i32) == 0);
}
