// Tests of recompute(): which ops run again and where, equal gradients in a symbolic run, and
// memory.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/program/liveness.h"
#include "unit/program/machine.h"
#include "unit/program/symbolic.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

Program tiny(Recompute policy, std::int64_t layers = 2) {
  ModelConfig config = tiny_config();
  config.layers = layers;
  const Program forward =
      build_gpt2(config, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = DType::f32});
  return recompute(differentiate(forward), policy);
}

std::string line_of(const Program& program, const Op& op) {
  std::string line = op.path + ":";
  const auto add = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) line += id == kNoValue ? " -" : " " + program.value(id).name;
  };
  add(op.in);
  line += " ->";
  add(op.out);
  return line;
}

// Returns the path of every backward op, and the whole line of every op that runs again.
std::vector<std::string> backward_of(const Program& program) {
  std::vector<std::string> lines;
  bool is_backward = false;
  for (const Op& op : program.ops) {
    is_backward = is_backward || op.path == "head.grad";
    if (!is_backward) continue;
    const bool again = op.path.find(".grad") == std::string::npos;
    lines.push_back(again ? line_of(program, op) : op.path);
  }
  return lines;
}

}  // namespace

TEST_CASE("recompute none changes nothing") {
  CHECK(print(tiny(Recompute::none)) == print(differentiate(tiny_forward())));
}

TEST_CASE("selective runs norms, GELU and attention again, each right before its reader") {
  const std::vector<std::string> expected{
      "head.grad",
      "final.ln.grad",
      "block1.mlp.fc: block1.mlp.fc.pre -> block1.mlp.fc.out~",
      "block1.mlp.proj.grad.weight",
      "block1.mlp.proj.grad.in",
      "block1.ln2: block1.ln2.sum - h.1.ln_2.weight h.1.ln_2.bias -> - block1.ln2.out~ "
      "block1.ln2.mean~ block1.ln2.rstd~",
      "block1.mlp.fc.grad.weight",
      "block1.mlp.fc.grad.in",
      "block1.ln2.grad",
      "block1.attn: block1.attn.qkv.out - -> block1.attn.out~ block1.attn.lse~",
      "block1.attn.proj.grad.weight",
      "block1.attn.proj.grad.in",
      "block1.attn.grad",
      "block1.ln1: block1.ln1.sum - h.1.ln_1.weight h.1.ln_1.bias -> - block1.ln1.out~ "
      "block1.ln1.mean~ block1.ln1.rstd~",
      "block1.attn.qkv.grad.weight",
      "block1.attn.qkv.grad.in",
      "block1.ln1.grad",
      "block0.mlp.fc: block0.mlp.fc.pre -> block0.mlp.fc.out~"};
  std::vector<std::string> found = backward_of(tiny(Recompute::selective));
  REQUIRE(found.size() > expected.size());
  found.resize(expected.size());
  CHECK(found == expected);
}

TEST_CASE("selective keeps a GELU of fused epilogues, which cannot be recomputed alone") {
  const Program forward =
      build_gpt2(tiny_config(), {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = DType::bf16});
  const Program plain = differentiate(forward);
  const Program program = recompute(plain, Recompute::selective, true);
  verify(program);
  int gelus = 0, readers = 0;
  for (const Op& op : program.ops) {
    if (is<ops::Activate>(op)) ++gelus;
    for (const ValueId id : op.in) {
      if (id != kNoValue && program.value(id).name == "block0.mlp.fc.out") ++readers;
    }
  }
  CHECK(gelus == 0);
  CHECK(readers == 2);  // the next product and its weight's gradient
  CHECK(Symbolic(program).gradients() == Symbolic(plain).gradients());
  // A block runs the whole product again in any case.
  CHECK(print(recompute(plain, Recompute::block, true)) ==
        print(recompute(plain, Recompute::block)));
}

TEST_CASE("block runs a whole block again, except its last op, which no op needs") {
  const std::vector<std::string> expected{
      "block1.ln1.grad",
      "block0.ln1: embed.out - h.0.ln_1.weight h.0.ln_1.bias -> - block0.ln1.out~ "
      "block0.ln1.mean~ block0.ln1.rstd~",
      "block0.attn.qkv: block0.ln1.out~ h.0.attn.c_attn.weight h.0.attn.c_attn.bias -> "
      "block0.attn.qkv.out~ -",
      "block0.attn: block0.attn.qkv.out~ - -> block0.attn.out~ block0.attn.lse~",
      "block0.attn.proj: block0.attn.out~ h.0.attn.c_proj.weight h.0.attn.c_proj.bias -> "
      "block0.attn.proj.out~ -",
      "block0.ln2: embed.out block0.attn.proj.out~ h.0.ln_2.weight h.0.ln_2.bias -> "
      "block0.ln2.sum~ block0.ln2.out~ block0.ln2.mean~ block0.ln2.rstd~",
      "block0.mlp.fc: block0.ln2.out~ h.0.mlp.c_fc.weight h.0.mlp.c_fc.bias -> "
      "block0.mlp.fc.out~ block0.mlp.fc.pre~",
      "block0.mlp.proj.grad.weight",
      "block0.mlp.proj.grad.in",
      "block0.mlp.fc.grad.weight",
      "block0.mlp.fc.grad.in",
      "block0.ln2.grad",
      "block0.attn.proj.grad.weight",
      "block0.attn.proj.grad.in",
      "block0.attn.grad",
      "block0.attn.qkv.grad.weight",
      "block0.attn.qkv.grad.in",
      "block0.ln1.grad",
      "embed.grad"};
  const std::vector<std::string> all = backward_of(tiny(Recompute::block));
  const auto first = std::find(all.begin(), all.end(), expected.front());
  CHECK(std::vector<std::string>(first, all.end()) == expected);
  // The last block's values are needed at once, so they are kept.
  for (auto line = all.begin(); line != first; ++line) CHECK(line->find('~') == std::string::npos);
}

TEST_CASE("a block in the middle keeps one tensor for the backward pass") {
  const Program program = tiny(Recompute::block, 4);
  const std::vector<Life> lives = lives_of(program);
  const auto head = std::ranges::find_if(program.ops, is<ops::HeadLossBackward>);
  const int at = static_cast<int>(head - program.ops.begin());
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const std::string& name = program.values[i].name;
    const bool is_earlier = name.starts_with("embed") || name.starts_with("block0") ||
                            name.starts_with("block1") || name.starts_with("block2");
    if (is_earlier && lives[i].first < at && lives[i].last > at) kept.push_back(name);
  }
  CHECK(kept == std::vector<std::string>{"embed.out", "block1.ln1.sum", "block2.ln1.sum"});
}

TEST_CASE("every policy gives the same gradients in a symbolic run") {
  for (const std::int64_t layers : {1, 2, 5}) {
    const std::vector<std::size_t> expected = Symbolic(tiny(Recompute::none, layers)).gradients();
    for (const Recompute policy : {Recompute::selective, Recompute::block}) {
      const Program program = tiny(policy, layers);
      verify(program);
      CHECK(Symbolic(program).gradients() == expected);
    }
  }
  CHECK(Symbolic(tiny(Recompute::none, 2)).gradients() !=
        Symbolic(tiny(Recompute::none, 3)).gradients());
}

TEST_CASE("a step of two ranks with recomputation never reads bytes that were reused too early") {
  for (const Recompute policy : {Recompute::selective, Recompute::block}) {
    const Program program = tiny(policy, 3);
    const World world(program, spec_of(0, 2, 4, 2, ShardSpec::Order::boundary));
    CHECK(world.broken_reads() == 0);
  }
}

TEST_CASE("recomputation lowers the peak of activations: 16 widths a block, 9, 1") {
  const auto peak = [](Recompute policy, std::int64_t layers) {
    return peak_of(tiny(policy, layers), Tier::device);
  };
  const std::int64_t width = 8 * 16 * 4;  // rows * C * bytes
  const auto growth = [&](Recompute policy) {
    return static_cast<double>(peak(policy, 20) - peak(policy, 10)) /
           static_cast<double>(10 * width);
  };
  // mean, rstd and lse are small: 2 + 2 + 2 numbers per row of 16.
  CHECK(growth(Recompute::none) == doctest::Approx(16 + 6.0 / 16));
  CHECK(growth(Recompute::selective) == doctest::Approx(9));
  CHECK(growth(Recompute::block) == doctest::Approx(1));
  CHECK(peak(Recompute::selective, 2) < peak(Recompute::none, 2));
}
