// Tests of the parameter counts of known models, and of the FLOPs of their steps.
#include "engine/models/parameter_count.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "engine/config/bert_family.h"
#include "engine/config/keys.h"
#include "engine/config/load.h"
#include "engine/config/t5_sizes.h"
#include "engine/config/toml_reader.h"
#include "engine/models/build_model.h"
#include "engine/plan/work.h"
#include "engine/program/freeze.h"
#include "engine/program/passes.h"

namespace {

/// The config of a preset at `seq_len`, with `vocab` rows in its embedding.
ds::ModelConfig preset_model(std::string_view preset, std::int64_t vocab, std::int64_t seq_len) {
  const std::string text = fmt::format(
      "[model]\npreset = \"{}\"\n[data]\ntrain = \"x\"\nseq_len = {}\n{}{}[batch]\nmicro = 1\n"
      "[train]\nsteps = 1\n",
      preset, seq_len, vocab == 256 ? "" : "format = \"samples\"\n",
      ds::t5_size(preset) == nullptr ? "" : "encoder_len = 64\n");
  ds::ModelConfig model =
      ds::make_train_config(ds::read_toml(text, "train.toml", "/"), "train.toml", 1).model;
  CHECK((model.vocab >= vocab && model.vocab < vocab + 64));
  model.vocab = vocab;  // without padding
  return model;
}

/// The forward pass of 2 sequences.
ds::Program forward_of(const ds::ModelConfig& model, std::int64_t seq_len) {
  return ds::build_model(model, {.micro = 2, .seq_len = seq_len, .valid_vocab = model.vocab});
}

/// FLOPs of the training step of the program, by token.
double per_token(const ds::Program& forward, std::int64_t seq_len, double target_share = 1) {
  return ds::flops_of(ds::differentiate(forward), target_share) / static_cast<double>(2 * seq_len);
}

}  // namespace

TEST_CASE("every preset has as many parameters as transformers counts") {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>> counts;
  std::ifstream file(DS_PARAMETER_COUNTS);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string preset;
    words >> preset;
    if (preset != "#") words >> counts[preset].first >> counts[preset].second;
  }
  for (const std::string_view preset : ds::split_words(ds::find_key("model.preset")->choices)) {
    CAPTURE(preset);
    REQUIRE(counts.contains(preset));
    const auto& [vocab, parameters] = counts.find(preset)->second;
    const ds::ModelConfig model = preset_model(preset, vocab, 64);
    const std::int64_t positions = ds::bert_family(model.arch) != nullptr ? 512 : 1024;
    CHECK(ds::count_parameters(model, positions).all == static_cast<double>(parameters));
    counts.erase(counts.find(preset));
  }
  CHECK(counts.empty());  // no preset was forgotten
}

TEST_CASE("GPT-2 124M: 6 for each weight of a matrix product, and 6 L C T for half of attention") {
  constexpr std::int64_t kTime = 1024;
  const ds::Program forward = forward_of(preset_model("gpt2-124m", 50257, kTime), kTime);
  // 12 layers of 768: q, k, v and projection, and two products with 3072; then the tied head
  const double blocks = 12 * (4.0 * 768 * 768 + 2.0 * 768 * 3072), head = 50257.0 * 768;
  const double attention = 6.0 * 12 * 768 * kTime;
  CHECK(per_token(forward, kTime) == doctest::Approx(6 * (blocks + head) + attention));
  // 3 times the forward pass, because all of it trains
  CHECK(3 * ds::flops_of(forward) == doctest::Approx(ds::flops_of(ds::differentiate(forward))));
  // Rows without a target cost the head nothing.
  CHECK(per_token(forward, kTime, 0.15) == doctest::Approx(6 * (blocks + 0.15 * head) + attention));
}

TEST_CASE("Llama 3.2 1B: grouped keys, gated layers, and what freezing saves") {
  constexpr std::int64_t kTime = 512;
  const ds::Program forward = forward_of(preset_model("llama3.2-1b", 128256, kTime), kTime);
  // 16 layers of 2048: q and projection, k and v of 8 of 32 heads, three products with 8192
  const double layer = 2.0 * 2048 * 2048 + 2.0 * 2048 * 512 + 3.0 * 2048 * 8192;
  const double head = 128256.0 * 2048, attention = 6.0 * 16 * 2048 * kTime;
  CHECK(per_token(forward, kTime) == doctest::Approx(6 * (16 * layer + head) + attention));
  // Frozen layers 0 to 7 need no gradient of a weight, and none of an activation, because nothing
  // before them trains: 2 passes less. The embedding is also the head's weight.
  const ds::Program frozen = ds::freeze(forward, {"embed*", "layers.[0-7].*"});
  const double saved = 4 * (8 * layer) + 2 * head + attention / 3;
  CHECK(per_token(frozen, kTime) == doctest::Approx(6 * (16 * layer + head) + attention - saved));
}

TEST_CASE("BERT: all tokens see all tokens, and the head's own layer is one more product") {
  constexpr std::int64_t kTime = 128;
  const ds::Program forward = forward_of(preset_model("bert-base-uncased", 30522, kTime), kTime);
  const double blocks = 12 * (4.0 * 768 * 768 + 2.0 * 768 * 3072), layer = 768.0 * 768;
  const double attention = 12.0 * 12 * 768 * kTime;
  CHECK(per_token(forward, kTime, 0.15) ==
        doctest::Approx(6 * (blocks + layer + 0.15 * 30522 * 768) + attention));
}
