// Tests of dropout in programs: only where training needs it, and all runs of one op draw the same
// numbers.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "unit/program/symbolic.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

Program training_program() {
  return build_gpt2(
      tiny_config(),
      {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = DType::f32, .dropout = 0.1});
}

// "block0.attn.grad" and "block0.attn" are runs of one op.
std::string forward_path(const Op& op) { return op.path.substr(0, op.path.find(".grad")); }

}  // namespace

TEST_CASE(
    "dropout sits behind the embeddings, on both branches, and on attention's probabilities") {
  const Program program = training_program();
  std::vector<std::string> paths;
  std::set<std::uint64_t> keys;
  for (const Op& op : program.ops) {
    const DropoutAttrs dropout = dropout_of(op);
    if (dropout.rate == 0) continue;
    CHECK(dropout.rate == 0.1F);
    paths.push_back(op.path);
    keys.insert(dropout.key);
  }
  CHECK(paths == std::vector<std::string>{"embed.dropout", "block0.attn", "block0.attn.dropout",
                                          "block0.mlp.dropout", "block1.attn",
                                          "block1.attn.dropout", "block1.mlp.dropout"});
  CHECK(keys.size() == paths.size());
  CHECK(program.input(input::kSamples) != kNoValue);
}

TEST_CASE("a program without dropout has neither its ops nor the input") {
  const Program program = tiny_forward();
  CHECK(program.input(input::kSamples) == kNoValue);
  for (const Op& op : program.ops) {
    CHECK_FALSE(is<ops::Dropout>(op));
    CHECK(dropout_of(op).rate == 0);
  }
}

TEST_CASE("backward and second runs draw by the key of the first run") {
  for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
    Program program = recompute(differentiate(training_program()), policy);
    verify(program);
    std::map<std::string, std::uint64_t> keys;
    std::map<std::string, int> runs;
    for (const Op& op : program.ops) {
      const DropoutAttrs dropout = dropout_of(op);
      if (is<ops::AttentionBackward>(op)) CHECK(dropout.rate == 0.1F);
      if (dropout.rate == 0) continue;
      const std::string path = forward_path(op);
      if (!keys.contains(path)) keys[path] = dropout.key;
      CHECK(keys[path] == dropout.key);
      CHECK(op.in.back() == program.input(input::kSamples));
      ++runs[path];
    }
    CHECK(keys.size() == 7);
    for (const auto& [path, count] : runs) {
      CAPTURE(path);
      CHECK(count >= 2);
    }
    if (policy != Recompute::none) CHECK(runs["block0.attn"] == 3);
  }
}

TEST_CASE("each micro-batch of a step has its own sample numbers") {
  const Program step =
      shard(differentiate(training_program()), spec_of(0, 1, 2, 2, ShardSpec::Order::boundary));
  verify(step);
  std::set<ValueId> samples;
  for (std::size_t micro = 0; micro < step.micro_batches.size(); ++micro)
    samples.insert(step.input(input::kSamples, micro));
  CHECK(samples.size() == 4);
  CHECK(!samples.contains(kNoValue));
  for (const Op& op : step.ops) {
    if (dropout_of(op).rate == 0) continue;
    CHECK(op.in.back() == step.input(input::kSamples, static_cast<std::size_t>(op.micro)));
  }
}
