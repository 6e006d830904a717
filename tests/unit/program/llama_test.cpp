// Tests of Llama's program: valid operands, recomputation, and the counted operations.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/models/build_model.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

Program llama(bool tied = false, std::int64_t kv_heads = 1, double dropout = 0,
              const char* arch = "llama") {
  ModelConfig config = tiny_config();
  config.arch = arch;
  config.kv_heads = kv_heads;
  config.ffn = 24;
  config.tied = tied;
  return build_model(config, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .dropout = dropout});
}

const Op& op_at(const Program& program, const std::string& path) {
  const auto found = std::find_if(program.ops.begin(), program.ops.end(),
                                  [&](const Op& op) { return op.path == path; });
  REQUIRE(found != program.ops.end());
  return *found;
}

std::string name_of(const Program& program, ValueId id) {
  return id == kNoValue ? "-" : program.value(id).name;
}

template <class Kind>
int count(const Program& program) {
  return static_cast<int>(std::ranges::count_if(program.ops, is<Kind>));
}

}  // namespace

TEST_CASE(
    "Llama: operands fit after differentiate, recompute and shard, with and without dropout") {
  for (const double dropout : {0.0, 0.1}) {
    for (const std::int64_t kv_heads : {1, 2}) {
      for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
        const Program step = recompute(differentiate(llama(false, kv_heads, dropout)), policy);
        verify(step);
        ShardSpec spec = spec_of(1, 2, 2, 2, ShardSpec::Order::step);
        for (spec.stage = 0; spec.stage <= 3; ++spec.stage) verify(shard(step, spec));
      }
    }
  }
}

TEST_CASE("Llama: where few tokens are learned, the head selects rows, forward and backward") {
  CHECK(learns_few(DataTask::response));
  CHECK(learns_few(DataTask::chat));
  CHECK(learns_few(DataTask::masked));
  CHECK_FALSE(learns_few(DataTask::text));
  CHECK_FALSE(learns_few(DataTask::pairs));
  ModelConfig config = tiny_config();
  config.arch = "llama";
  for (const bool few : {false, true}) {
    const Program step = differentiate(build_model(
        config, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .few_targets = few}));
    CHECK(step.extents.head_sparse == few);
    for (const Op& op : step.ops) {
      if (is<ops::HeadLoss>(op)) CHECK(as<ops::HeadLoss>(op).sparse == few);
      if (is<ops::HeadLossBackward>(op)) CHECK(as<ops::HeadLossBackward>(op).sparse == few);
    }
  }
}

TEST_CASE("Llama: groups, and a head that is tied or not") {
  const auto groups_of = [](const Program& program) {
    std::string names;
    for (const ParamGroup& group : program.groups) names += group.name + " ";
    return names;
  };
  CHECK(groups_of(llama()) == "embed block0 block1 final head ");
  CHECK(groups_of(llama(true)) == "embed block0 block1 final ");
  const Program own = differentiate(llama()), tied = differentiate(llama(true));
  CHECK(name_of(own, op_at(own, "head.grad").out[3]) == "lm_head.weight.grad");
  CHECK(!op_at(own, "embed.grad").adds_to(0));
  CHECK(name_of(tied, op_at(tied, "head.grad").out[3]) == "embed_tokens.weight.grad");
  CHECK(op_at(tied, "embed.grad").adds_to(0));
  CHECK(op_at(tied, "embed.grad").out[1] == kNoValue);
}

TEST_CASE("Llama: fewer key heads, and the gradient is rotated back in rows") {
  const Program program = differentiate(llama());
  const auto value = [&](ValueId id) -> const Value& { return program.value(id); };
  const Op& rotary = op_at(program, "block1.attn.rotary");
  CHECK(value(rotary.in[0]).shape == Shape{1, 2, 2 + 2 * 1, 4, 8});
  const Op& back = op_at(program, "block1.attn.rotary.grad");
  CHECK(as<ops::Rotary>(back).inverse);
  CHECK(as<ops::Rotary>(back).rows);
  CHECK(value(back.in[0]).shape == Shape{8, (2 + 2) * 8});
  CHECK(op_at(program, "block1.attn.qkv.grad.in").in[0] == back.out[0]);
  // As many key heads as query heads: the shape of GPT-2.
  const Program equal = llama(false, 2);
  CHECK(equal.value(op_at(equal, "block0.attn").in[0]).shape == Shape{3, 2, 2, 4, 8});
}

TEST_CASE("Llama: selective recomputes norms, SwiGLU and attention, not the rotated heads") {
  const Program program = recompute(differentiate(llama()), Recompute::selective);
  CHECK(count<ops::RmsNorm>(program) == 5 + 4);
  CHECK(count<ops::Glu>(program) == 2 + 2);
  CHECK(count<ops::Attention>(program) == 2 + 2);
  CHECK(count<ops::Rotary>(program) == 2 + 2);  // forward and backward
  CHECK(count<ops::Linear>(program) == 2 * 4);
}

TEST_CASE("Qwen3: norms of heads before the rotation, with weights of one head; not run again") {
  for (const std::int64_t kv_heads : {1, 2}) {
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
      const Program step = recompute(differentiate(llama(false, kv_heads, 0.1, "qwen3")), policy);
      verify(step);
      ShardSpec spec = spec_of(1, 2, 2, 2, ShardSpec::Order::step);
      for (spec.stage = 0; spec.stage <= 3; ++spec.stage) verify(shard(step, spec));
    }
  }
  const Program program = differentiate(llama(false, 1, 0, "qwen3"));
  const Op& norm = op_at(program, "block1.attn.norms");
  CHECK(op_at(program, "block1.attn.rotary").in[0] == norm.out[0]);
  CHECK(name_of(program, norm.in[1]) == "layers.1.self_attn.q_norm.weight");
  CHECK(program.value(norm.in[2]).shape == Shape{8});
  const Op& back = op_at(program, "block1.attn.norms.grad");
  CHECK(op_at(program, "block1.attn.rotary.grad").out[0] == back.in[0]);
  CHECK(op_at(program, "block1.attn.qkv.grad.in").in[0] == back.out[0]);
  CHECK(name_of(program, back.out[2]) == "layers.1.self_attn.k_norm.weight.grad");
  const Program again = recompute(program, Recompute::selective);
  CHECK(count<ops::HeadNorm>(again) == 2);
  CHECK(count<ops::HeadNormBackward>(again) == 2);
}
