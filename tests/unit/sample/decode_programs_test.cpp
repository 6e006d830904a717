// Tests the programs that decode: they share weights and cache, and the cache takes no memory of
// its own beside a larger program.
#include "engine/sample/decode_programs.h"

#include <doctest/doctest.h>

#include <map>

#include "engine/models/build_model.h"
#include "engine/program/liveness.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

ModelConfig model(const char* arch) {
  ModelConfig config;
  config.arch = arch;
  config.layers = 2;
  config.hidden = 32;
  config.heads = 4;
  config.kv_heads = config.arch == "gpt2" ? 4 : 2;
  config.ffn = 64;
  config.vocab = 96;
  return config;
}

constexpr DecodeShape kShape{
    .sequences = 3, .room = 50, .positions = 64, .piece = 16, .valid_vocab = 90};

/// Returns the places of the kept values by name.
std::map<std::string, std::int64_t> kept(const Program& program,
                                         const std::vector<std::int64_t>& offsets) {
  std::map<std::string, std::int64_t> places;
  for (std::size_t i = 0; i < program.values.size(); ++i)
    if (program.values[i].kept) places[program.values[i].name] = offsets[i];
  return places;
}

TEST_CASE("programs that decode have no loss, logits of each sequence, and the model's weights") {
  for (const char* arch : {"gpt2", "llama"}) {
    CAPTURE(arch);
    const DecodePrograms programs = build_decode(model(arch), kShape);
    const Program training =
        build_model(model(arch), {.micro = 2, .seq_len = 64, .valid_vocab = 90});
    for (const Program* program : {&programs.prefill, &programs.step}) {
      verify(*program);
      CHECK(program->value(program->logits).shape == Shape{3, 96});
      CHECK(program->micro_batches[0].loss == kNoValue);
      REQUIRE(program->groups.size() == training.groups.size());
      for (std::size_t g = 0; g < training.groups.size(); ++g) {
        CHECK(program->groups[g].name == training.groups[g].name);
        CHECK(program->groups[g].elements == training.groups[g].elements);
      }
    }
  }
}

TEST_CASE("T5: a step reads the keys that the encoder's run has left, and no op of the encoder") {
  ModelConfig config = model("t5");
  config.kv_heads = 4;
  config.decoder_layers = 3;
  config.activation = FeedForward::relu;
  DecodeShape shape = kShape;
  shape.encoder_len = 40;
  const DecodePrograms programs = build_decode(config, shape);
  for (const Program* program : {&programs.prefill, &programs.step}) {
    verify(*program);
    CHECK(program->value(program->logits).shape == Shape{3, 96});
  }
  for (std::size_t g = 0; g < programs.prefill.groups.size(); ++g)
    CHECK(programs.step.groups.at(g).elements == programs.prefill.groups[g].elements);
  CHECK(programs.prefill.input(input::kEncoderTokens) != kNoValue);
  CHECK(programs.step.input(input::kEncoderTokens) == kNoValue);
  CHECK(programs.step.input(input::kCrossRanges) != kNoValue);
  for (const Op& op : programs.step.ops) {
    CHECK(op.path.find("encoder") == std::string::npos);
    CHECK(op.path.find("cross.kv") == std::string::npos);
  }
  const PlacementPlan plan = place({&programs.prefill, &programs.step}, 0);
  const auto prefill = kept(programs.prefill, plan.offsets[0]);
  CHECK(prefill.size() == 6);  // of each block of the decoder: its cache, and the encoder's keys
  CHECK(prefill == kept(programs.step, plan.offsets[1]));
}

TEST_CASE("the cache lies at one place in both programs, in memory that training uses otherwise") {
  const DecodePrograms programs = build_decode(model("llama"), kShape);
  const Program training =
      build_model(model("llama"), {.micro = 64, .seq_len = 64, .valid_vocab = 90});
  const PlacementPlan alone = place({&training}, 0);
  const PlacementPlan plan = place({&training, &programs.prefill, &programs.step}, 0);
  CHECK(plan.device().total_bytes == alone.device().total_bytes);
  const auto prefill = kept(programs.prefill, plan.offsets[1]);
  CHECK(prefill == kept(programs.step, plan.offsets[2]));
  REQUIRE(prefill.size() == 2);
  // Nothing else of a program that decodes lies there.
  const std::int64_t bytes = 3 * 4 * 50 * 8 * 4;
  for (const auto& [name, first] : prefill) {
    for (std::size_t p : {1U, 2U}) {
      const Program& program = p == 1 ? programs.prefill : programs.step;
      const std::vector<Life> lives = lives_of(program);
      for (std::size_t i = 0; i < program.values.size(); ++i) {
        const Value& value = program.values[i];
        if (value.name == name || value.base != kNoValue) continue;
        if (!value.persistent && !value.kept && !lives[i].used()) continue;
        const std::int64_t at = plan.offsets[p][i];
        CHECK((at >= first + bytes || at + bytes_of(value) <= first));
      }
    }
  }
  std::int64_t sum = 0;
  const PlacementPlan decode = place({&programs.prefill, &programs.step}, 0);
  for (const auto& [name, size] : decode.device().classes) sum += size;
  CHECK(sum == decode.device().total_bytes);
}

TEST_CASE("pieces of prompts: as long as the longest, up to 256") {
  CHECK(piece_of(1, 100) == 16);
  CHECK(piece_of(17, 100) == 32);
  CHECK(piece_of(1000, 2000) == 256);
  CHECK(piece_of(5, 7) == 7);
}

}  // namespace
}  // namespace ds
