// Tests of the parameter counts of known models.
#include "engine/monitor/model_flops.h"

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

namespace {

ds::ModelConfig model_of(std::int64_t layers, std::int64_t hidden, std::int64_t ffn,
                         std::int64_t vocab) {
  ds::ModelConfig model;
  model.layers = layers;
  model.hidden = hidden;
  model.ffn = ffn;
  model.vocab = vocab;
  model.heads = model.kv_heads = 1;
  return model;
}

}  // namespace

TEST_CASE("GPT-2 small has 124 M parameters, the 10 M preset 10.8 M") {
  const ds::ModelConfig gpt2 = model_of(12, 768, 3072, 50257);
  CHECK(ds::total_parameters(gpt2, 1024) == 124'439'808.0);  // as published
  const ds::ModelConfig small = model_of(6, 384, 1536, 256);
  CHECK(ds::total_parameters(small, 256) == doctest::Approx(10.84e6).epsilon(0.01));
}

TEST_CASE("BERT: the head's linear layer is a matrix product too") {
  ds::ModelConfig bert = model_of(1, 2, 8, 3);
  bert.arch = "bert";
  CHECK(ds::matmul_parameters(bert) == 4 * 4 + 2 * 16 + 4 + 6);
}

TEST_CASE("weights of matrix products: the blocks' and the head's") {
  const ds::ModelConfig tiny = model_of(1, 2, 8, 3);
  CHECK(ds::matmul_parameters(tiny) == 4 * 4 + 2 * 16 + 6);
}

TEST_CASE("Llama: grouped keys, three products per feed-forward layer, an untied head") {
  ds::ModelConfig llama = model_of(32, 4096, 14336, 128256);
  llama.arch = "llama";
  llama.heads = 32;
  llama.kv_heads = 8;
  llama.tied = false;
  CHECK(ds::total_parameters(llama, 8192) == 8'030'261'248.0);  // as published: Llama 3 8B
  llama = model_of(16, 2048, 8192, 128256);
  llama.arch = "llama";
  llama.heads = 32;
  llama.kv_heads = 8;
  CHECK(ds::total_parameters(llama, 8192) == 1'235'814'400.0);  // Llama 3.2 1B, tied
}

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
    const std::string text = fmt::format(
        "[model]\npreset = \"{}\"\n[data]\ntrain = \"x\"\nseq_len = 64\n{}{}[batch]\nmicro = 1\n"
        "[train]\nsteps = 1\n",
        preset, vocab == 256 ? "" : "format = \"samples\"\n",
        ds::t5_size(preset) == nullptr ? "" : "encoder_len = 64\n");
    ds::TrainConfig config =
        ds::make_train_config(ds::read_toml(text, "train.toml", "/"), "train.toml", 1);
    CHECK((config.model.vocab >= vocab && config.model.vocab < vocab + 64));
    config.model.vocab = vocab;  // without padding
    const std::int64_t positions = ds::bert_family(config.model.arch) != nullptr ? 512 : 1024;
    CHECK(ds::total_parameters(config.model, positions) == static_cast<double>(parameters));
    counts.erase(counts.find(preset));
  }
  CHECK(counts.empty());  // no preset was forgotten
}
