// Tests of differentiate(): a golden text for GPT-2, and fan-out in small programs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "support/read_file.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

std::vector<std::string> paths_of(const Program& program) {
  std::vector<std::string> paths;
  for (const Op& op : program.ops) paths.push_back(op.path);
  return paths;
}

ValueId add_value(Program& program, std::string name, ValueKind kind, Shape shape,
                  DType dtype = DType::f32) {
  return program.add_value(
      {.name = std::move(name), .kind = kind, .dtype = dtype, .shape = shape, .micro = 0});
}

MicroBatch add_batch(Program& program) {
  MicroBatch batch;
  for (const char* name : {input::kTokens, input::kTargets}) {
    const ValueId value = add_value(program, name, ValueKind::input, {4}, DType::i32);
    batch.inputs.push_back({name, value});
  }
  batch.loss = add_value(program, "loss", ValueKind::activation, {1}, DType::f64);
  batch.count = add_value(program, "count", ValueKind::activation, {1}, DType::i64);
  program.micro_batches = {batch};
  return batch;
}

// One group with one leaf per tensor.
class Parameters {
 public:
  explicit Parameters(Program& program) : program_(program) {
    flat_ = program.add_value({.name = "all.weights",
                               .kind = ValueKind::parameter,
                               .shape = {5 * kLeaf},
                               .persistent = true});
    program.groups.push_back(
        {.name = "all", .tensors = {}, .elements = 5 * kLeaf, .weights = flat_});
  }
  ValueId add(std::string name, Shape shape) {
    std::vector<ParamTensor>& tensors = program_.groups[0].tensors;
    const std::int64_t offset = static_cast<std::int64_t>(tensors.size()) * kLeaf;
    ParamTensor tensor{.name = name, .shape = shape, .offset = offset};
    tensor.weights = program_.add_value({.name = std::move(name),
                                         .kind = ValueKind::parameter,
                                         .shape = shape,
                                         .base = flat_,
                                         .offset = offset});
    tensors.push_back(tensor);
    return tensor.weights;
  }

 private:
  Program& program_;
  ValueId flat_;
};

// x -> three linear layers with one weight -> sum: every kind of fan-out at once.
Program fan_out() {
  Program program;
  const MicroBatch batch = add_batch(program);
  Parameters parameters(program);
  const ValueId wte = parameters.add("wte", {8, 8}), wpe = parameters.add("wpe", {4, 8});
  const ValueId weight = parameters.add("weight", {8, 8}), bias = parameters.add("bias", {8});
  const ValueId head = parameters.add("head", {8, 8});
  const ValueId x = add_value(program, "x", ValueKind::activation, {4, 8});
  program.ops.push_back({.attrs = ops::Embed{},
                         .path = "embed",
                         .micro = 0,
                         .in = {program.input(input::kTokens), wte, wpe},
                         .out = {x}});
  std::vector<ValueId> parts;
  for (const char* name : {"a", "b", "c"}) {
    parts.push_back(add_value(program, name, ValueKind::activation, {4, 8}));
    program.ops.push_back({.attrs = ops::Linear{},
                           .path = name,
                           .micro = 0,
                           .in = {x, weight, bias},
                           .out = {parts.back(), kNoValue}});
  }
  const ValueId ab = add_value(program, "ab", ValueKind::activation, {4, 8});
  const ValueId abc = add_value(program, "abc", ValueKind::activation, {4, 8});
  program.ops.push_back(
      {.attrs = ops::Add{}, .path = "ab", .micro = 0, .in = {parts[0], parts[1]}, .out = {ab}});
  program.ops.push_back(
      {.attrs = ops::Add{}, .path = "abc", .micro = 0, .in = {ab, parts[2]}, .out = {abc}});
  program.ops.push_back({.attrs = ops::HeadLoss{.valid_vocab = 8, .chunk_rows = 4},
                         .path = "head",
                         .micro = 0,
                         .in = {abc, head, program.input(input::kTargets)},
                         .out = {batch.loss, batch.count}});
  return program;
}

const Op& op_at(const Program& program, const std::string& path) {
  const auto found = std::find_if(program.ops.begin(), program.ops.end(),
                                  [&](const Op& op) { return op.path == path; });
  REQUIRE(found != program.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("GPT-2 of two blocks, differentiated: the golden text") {
  const Program program = differentiate(tiny_forward());
  verify(program);
  const std::string path = "tests/golden/gpt2_tiny.program.txt";
  if (std::getenv("DS_UPDATE_GOLDEN") != nullptr)
    std::ofstream(DS_SOURCE_DIR "/" + path) << print(program);
  CHECK(print(program) == read_source(path));
}

TEST_CASE("the tied embedding: the embedding's gradient is added to the head's") {
  const Program program = differentiate(tiny_forward());
  const Op &head = op_at(program, "head.grad"), &embed = op_at(program, "embed.grad");
  CHECK(head.out[3] == embed.out[0]);
  CHECK_FALSE(head.adds_to(3));
  CHECK(embed.adds_to(0));
  CHECK_FALSE(embed.adds_to(1));
}

TEST_CASE("residual gradients are added inside the norms: GPT-2 has no separate add") {
  const Program program = differentiate(tiny_forward());
  for (const Op& op : program.ops) CHECK_FALSE(is<ops::Add>(op));
  const Op& ln2 = op_at(program, "block1.ln2.grad");
  CHECK(ln2.in[5] == op_at(program, "final.ln.grad").out[0]);
  CHECK(op_at(program, "block1.ln1.grad").in[5] == ln2.out[0]);
  CHECK(op_at(program, "block0.ln1.grad").in[5] == op_at(program, "block0.ln2.grad").out[0]);
  CHECK(op_at(program, "embed.grad").in[1] == op_at(program, "block0.ln1.grad").out[0]);
}

TEST_CASE("a value used three times: its gradients are summed in reverse program order") {
  const Program program = differentiate(fan_out());
  verify(program);
  std::vector<std::string> added;
  for (const Op& op : program.ops) {
    if (!is<ops::Add>(op) || op.path == "ab" || op.path == "abc") continue;
    added.push_back(program.value(op.in[0]).name + " + " + program.value(op.in[1]).name);
  }
  REQUIRE(added.size() == 2);
  CHECK(added[0] == "c.grad.in + b.grad.in");
  CHECK(added[1].ends_with(" + a.grad.in"));
}

TEST_CASE("a parameter used three times: the first contribution overwrites, the others add") {
  const Program program = differentiate(fan_out());
  CHECK_FALSE(op_at(program, "c.grad.weight").adds_to(0));
  CHECK(op_at(program, "b.grad.weight").adds_to(0));
  CHECK(op_at(program, "a.grad.weight").adds_to(0));
}

TEST_CASE("verify accepts what every pass makes, for both types") {
  for (const DType act : {DType::f32, DType::bf16}) {
    const Program forward = tiny_forward(act);
    verify(forward);
    verify(differentiate(forward));
    verify(shard(differentiate(forward), ShardSpec{.virtual_ranks = 3, .accum = 2}));
  }
}

TEST_CASE("paths of ops are unique, so they can key random numbers and traces") {
  std::vector<std::string> paths = paths_of(differentiate(tiny_forward()));
  std::sort(paths.begin(), paths.end());
  CHECK(std::adjacent_find(paths.begin(), paths.end()) == paths.end());
}
