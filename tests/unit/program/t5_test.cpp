// Tests of T5's program: valid operands after every pass, what both stacks share, the sums of fp16,
// the head.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/models/build_model.h"
#include "engine/program/freeze.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

ModelConfig t5_config() {
  ModelConfig config = tiny_config();
  config.arch = "t5";
  config.layers = 2;
  config.decoder_layers = 3;
  config.head_size = 6;
  config.ffn = 24;
  config.activation = FeedForward::gated_gelu;
  return config;
}

Program t5_of(const ModelConfig& config, DType act = DType::f32, double dropout = 0,
              bool documents = false) {
  return build_model(config, {.micro = 2,
                              .seq_len = 4,
                              .valid_vocab = 60,
                              .act = act,
                              .dropout = dropout,
                              .fields = {.encoder_documents = documents, .encoder_len = 7}});
}

const Op& t5_op(const Program& program, const std::string& path) {
  const auto found = std::find_if(program.ops.begin(), program.ops.end(),
                                  [&](const Op& op) { return op.path == path; });
  REQUIRE(found != program.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("T5: operands fit after differentiate, recompute and shard") {
  for (const FeedForward activation : {FeedForward::relu, FeedForward::gated_gelu}) {
    for (const double dropout : {0.0, 0.1}) {
      for (const DType act : {DType::f32, DType::f16}) {
        for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
          ModelConfig config = t5_config();
          config.activation = activation;
          config.tied = act == DType::f32;
          const Program step =
              recompute(differentiate(t5_of(config, act, dropout, dropout > 0)), policy);
          verify(step);
          ShardSpec spec = spec_of(1, 2, 2, 2, ShardSpec::Order::step);
          for (spec.stage = 0; spec.stage <= 3; ++spec.stage) verify(shard(step, spec));
        }
      }
    }
  }
}

// The decoder's embedding comes after blocks that train, and has operands that are missing.
TEST_CASE("T5: a frozen embedding has no reverse where a part of the encoder trains") {
  const Program reverse =
      differentiate(freeze_all_but(t5_of(t5_config()), {"encoder.block.1.layer.0.*"}));
  verify(reverse);
  CHECK(std::ranges::none_of(reverse.ops, is<ops::EmbedBackward>));
  CHECK(std::ranges::none_of(reverse.ops, [](const Op& op) {
    return op.path.starts_with("encoder.block0.") && op.path.find(".grad") != std::string::npos;
  }));
}

TEST_CASE("T5: all blocks of a stack read one bias, whose gradient is the sum of theirs") {
  const Program program = t5_of(t5_config());
  const auto name = [&](ValueId id) { return program.value(id).name; };
  for (const char* const block : {"decoder.block0", "decoder.block1", "decoder.block2"})
    CHECK(name(t5_op(program, std::string(block) + ".attn").in[4]) == "decoder.bias.out");
  CHECK(name(t5_op(program, "encoder.block1.attn").in[4]) == "encoder.bias.out");
  CHECK(t5_op(program, "decoder.bias").block == -1);
  CHECK(program.value(t5_op(program, "encoder.bias").out[0]).shape == Shape{2, 2 * 7 - 1});
  const Program step = differentiate(program);
  // Two sums of three gradients, and one more use of the encoder's result in each block.
  const auto sums = [&](const std::string& of) {
    return std::count_if(step.ops.begin(), step.ops.end(),
                         [&](const Op& op) { return op.path.starts_with(of + ".grad.add"); });
  };
  CHECK(sums("decoder.bias.out") == 2);
  CHECK(sums("encoder.bias.out") == 1);
  CHECK(sums("encoder.final.norm.out") == 2);
  CHECK(!t5_op(step, "decoder.bias.grad").adds_to(0));
}

TEST_CASE(
    "T5: attention of three kinds, unscaled; the head's scale; the embedding of both stacks") {
  ModelConfig config = t5_config();
  config.scaled = true;
  const Program program = t5_of(config, DType::f32, 0, true);
  const auto attention = [&](const char* path) { return as<ops::Attention>(t5_op(program, path)); };
  CHECK(!attention("encoder.block0.attn").causal);
  CHECK(attention("decoder.block0.attn").causal);
  CHECK(!attention("decoder.block0.cross").causal);
  CHECK(attention("decoder.block0.cross").scale == 1);
  const auto name = [&](ValueId id) { return program.value(id).name; };
  const Op& cross = t5_op(program, "decoder.block2.cross");
  CHECK(program.value(cross.in[0]).shape[3] == 4);
  CHECK(program.value(cross.in[2]).shape[3] == 7);
  CHECK(name(cross.in[3]) == "cross.ranges.out");
  CHECK(name(t5_op(program, "decoder.block2.cross.kv").in[0]) == "encoder.final.norm.out");
  CHECK(program.input(input::kPositions) == kNoValue);
  CHECK(as<ops::HeadLoss>(t5_op(program, "head")).scale ==
        1 / std::sqrt(static_cast<float>(config.hidden)));
  const Program step = differentiate(program);
  for (const char* const path : {"decoder.embed.grad", "encoder.embed.grad"})
    CHECK(t5_op(step, path).adds_to(0));  // to the gradient of the tied head
  config.tied = config.scaled = false;
  const Program untied = differentiate(t5_of(config));
  CHECK(as<ops::HeadLossBackward>(t5_op(untied, "head.grad")).scale == 1);
  CHECK(!t5_op(untied, "decoder.embed.grad").adds_to(0));
  CHECK(t5_op(untied, "encoder.embed.grad").adds_to(0));
}

TEST_CASE("T5: sums of branches are kept finite in fp16, and only there") {
  const auto count = [](const Program& program) {
    return std::count_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
      return is<ops::Activate>(op) && as<ops::Activate>(op).activation == Activation::finite;
    });
  };
  CHECK(count(t5_of(t5_config(), DType::f16)) == 2 * 2 + 3 * 3);  // one per branch
  CHECK(count(t5_of(t5_config(), DType::f32)) == 0);
  CHECK(count(t5_of(t5_config(), DType::bf16)) == 0);
}
