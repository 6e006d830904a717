// Tests of programs whose samples have documents: every op that needs them reads the inputs of its
// own micro-batch; programs of plain text have none of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "engine/models/build_model.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

Program packed_model(const std::string& arch, const DataFields& fields) {
  ModelConfig config = tiny_config();
  config.arch = arch;
  return build_model(config, {.micro = 2, .seq_len = 4, .valid_vocab = 60, .fields = fields});
}

/// The ops that read a value, by their names.
std::multiset<std::string> readers_of(const Program& program, ValueId value) {
  std::multiset<std::string> names;
  for (const Op& op : program.ops) {
    if (std::ranges::find(op.in, value) == op.in.end()) continue;
    const std::string line = op.path;
    names.insert(line.substr(line.find('.') == std::string::npos ? 0 : line.find('.') + 1));
  }
  return names;
}

using Names = std::multiset<std::string>;

}  // namespace

TEST_CASE("documents: operands fit after all passes, and belong to their micro-batch") {
  for (const char* arch : {"gpt2", "llama"}) {
    const Program forward = packed_model(arch, {.documents = true});
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
      const Program whole = recompute(differentiate(forward), policy);
      verify(whole);
      ShardSpec spec = spec_of(1, 2, 2, 2, ShardSpec::Order::step);
      for (spec.stage = 0; spec.stage <= 3; ++spec.stage) {
        const Program step = shard(whole, spec);
        verify(step);
        for (const Op& op : step.ops) {
          for (const char* name : {input::kDocuments, input::kPositions}) {
            for (std::size_t micro = 0; micro < step.micro_batches.size(); ++micro) {
              const bool reads = std::ranges::find(op.in, step.input(name, micro)) != op.in.end();
              if (reads) CHECK(op.micro == static_cast<int>(micro));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("documents: which ops read positions and ranges, forward and backward") {
  const Program gpt2 = differentiate(packed_model("gpt2", {.documents = true}));
  CHECK(readers_of(gpt2, gpt2.input(input::kPositions)) == Names{"embed", "grad"});
  const Program llama = differentiate(packed_model("llama", {.documents = true}));
  CHECK(readers_of(llama, llama.input(input::kPositions)) ==
        Names{"attn.rotary", "attn.rotary", "attn.rotary.grad", "attn.rotary.grad"});
  for (const Program& program : {gpt2, llama}) {
    CHECK(readers_of(program, program.input(input::kDocuments)) == Names{"ranges"});
    const auto ranges = std::ranges::find(program.values, "ranges.out", &Value::name);
    REQUIRE(ranges != program.values.end());
    const auto id = static_cast<ValueId>(ranges - program.values.begin());
    CHECK(readers_of(program, id) == Names{"attn", "attn", "attn.grad", "attn.grad"});
  }
}

TEST_CASE("without documents, a program has positions where the data have them, and else neither") {
  const Program positions = packed_model("gpt2", {.positions = true});
  CHECK(positions.input(input::kPositions) != kNoValue);
  CHECK(positions.input(input::kDocuments) == kNoValue);
  CHECK(positions.micro_batches[0].inputs.back().limit == 4);         // rows of wpe
  const Program plain = packed_model("gpt2", {.token_types = true});  // which GPT-2 does not read
  CHECK(plain.micro_batches[0].inputs.size() == 2);
  CHECK(print(plain) == print(packed_model("gpt2", {})));
}
