// Tests of BERT's program: valid operands, recomputation, what attention sees, and the head.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/models/build_model.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

Program model_of(const char* arch, double dropout = 0, bool documents = false) {
  ModelConfig config = tiny_config();
  config.arch = arch;
  config.ffn = 24;
  config.type_vocab = 2;
  config.first_position = config.arch == "roberta" ? 2 : 0;
  return build_model(config, {.micro = 2,
                              .seq_len = 4,
                              .valid_vocab = 60,
                              .dropout = dropout,
                              .fields = {.documents = documents}});
}

const Op& bert_op(const Program& program, const std::string& path) {
  const auto found = std::find_if(program.ops.begin(), program.ops.end(),
                                  [&](const Op& op) { return op.path == path; });
  REQUIRE(found != program.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("BERT: operands fit after differentiate, recompute and shard") {
  for (const char* const arch : {"bert", "roberta"}) {
    for (const double dropout : {0.0, 0.1}) {
      for (const bool documents : {false, true}) {
        for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
          const Program step =
              recompute(differentiate(model_of(arch, dropout, documents)), policy);
          verify(step);
          ShardSpec spec = spec_of(1, 2, 2, 2, ShardSpec::Order::step);
          for (spec.stage = 0; spec.stage <= 3; ++spec.stage) verify(shard(step, spec));
        }
      }
    }
  }
}

TEST_CASE("BERT: norms follow their branches, and the embedding's gradient begins in the head") {
  const Program program = model_of("bert");
  const auto name = [&](ValueId id) { return program.value(id).name; };
  const Op& first = bert_op(program, "block0.ln1");
  CHECK(name(first.in[0]) == "embed.ln.out");
  CHECK(name(first.in[1]) == "block0.attn.proj.out");
  CHECK(name(bert_op(program, "block0.mlp.fc").in[0]) == "block0.ln1.out");
  CHECK(name(bert_op(program, "block0.ln2").in[0]) == "block0.ln1.out");
  CHECK(name(bert_op(program, "block1.attn.qkv").in[0]) == "block0.ln2.out");
  CHECK(!as<ops::Attention>(bert_op(program, "block1.attn")).causal);
  const Op& head = bert_op(program, "head");
  CHECK(name(head.in[1]) == "embeddings.word_embeddings.weight");
  CHECK(name(head.in[3]) == "cls.predictions.bias");
  const Program step = differentiate(program);
  CHECK(!bert_op(step, "head.grad").adds_to(3));
  CHECK(bert_op(step, "embed.grad").adds_to(0));
  CHECK(!bert_op(step, "embed.types.grad").adds_to(0));
}

TEST_CASE("BERT and RoBERTa: inputs, activations, and the table of positions") {
  const Program bert = model_of("bert"), roberta = model_of("roberta");
  CHECK(bert.input(input::kPositions) == kNoValue);
  CHECK(bert.input(input::kTokenTypes) != kNoValue);
  CHECK(roberta.input(input::kPositions) != kNoValue);
  CHECK(roberta.value(bert_op(roberta, "embed").in[2]).shape == Shape{2 + 4, 16});
  CHECK(as<ops::Linear>(bert_op(bert, "block0.mlp.fc")).activation == Activation::gelu_erf);
  const Program packed = model_of("bert", 0, true);
  CHECK(packed.input(input::kDocuments) != kNoValue);
}
