// Tests of the parameter counts of known models.
#include "engine/monitor/model_flops.h"

#include <doctest/doctest.h>

#include <string>

#include "engine/config/load.h"
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

TEST_CASE("the presets of Llama's family have the published numbers of parameters") {
  struct Row {
    std::string preset;
    double parameters;
  };
  for (const Row& row : {Row{"llama-7b", 6'738'415'616},      Row{"llama-13b", 13'015'864'320},
                         Row{"llama-30b", 32'528'943'616},    Row{"llama-65b", 65'285'660'672},
                         Row{"llama2-7b", 6'738'415'616},     Row{"llama2-13b", 13'015'864'320},
                         Row{"llama2-70b", 68'976'648'192},   Row{"llama3-8b", 8'030'261'248},
                         Row{"llama3-70b", 70'553'706'496},   Row{"llama3.1-8b", 8'030'261'248},
                         Row{"llama3.1-70b", 70'553'706'496}, Row{"llama3.1-405b", 405'853'388'800},
                         Row{"llama3.2-1b", 1'235'814'400},   Row{"llama3.2-3b", 3'212'749'824},
                         Row{"llama3.3-70b", 70'553'706'496}, Row{"mistral-7b", 7'248'023'552},
                         Row{"qwen2.5-0.5b", 494'032'768},    Row{"qwen2.5-1.5b", 1'543'714'304},
                         Row{"qwen2.5-3b", 3'085'938'688},    Row{"qwen2.5-7b", 7'615'616'512},
                         Row{"qwen2.5-14b", 14'770'033'664},  Row{"qwen2.5-32b", 32'763'876'352},
                         Row{"qwen2.5-72b", 72'706'203'648}}) {
    CAPTURE(row.preset);
    const std::string text = "[model]\npreset = \"" + row.preset +
                             "\"\n[data]\ntrain = \"x\"\nseq_len = 64\n[batch]\nmicro = 1\n"
                             "[train]\nsteps = 1\n";
    const ds::TrainConfig config =
        ds::make_train_config(ds::read_toml(text, "train.toml", "/"), "train.toml", 1);
    CHECK(ds::total_parameters(config.model, 64) == row.parameters);
  }
}
