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

// Counted by transformers 5.23 of BertForMaskedLM and RobertaForMaskedLM on its meta device.
TEST_CASE("the presets of BERT and RoBERTa have transformers' numbers of parameters") {
  struct Row {
    std::string preset;
    double parameters;
  };
  for (const Row& row : {Row{"bert-base-uncased", 109'514'298}, Row{"bert-base-cased", 108'340'804},
                         Row{"bert-large-uncased", 335'174'458},
                         Row{"bert-large-cased", 333'610'308}, Row{"roberta-base", 124'697'433},
                         Row{"roberta-large", 355'412'057}, Row{"hello-deepspeed", 16'279'385}}) {
    CAPTURE(row.preset);
    const std::string text = "[model]\npreset = \"" + row.preset +
                             "\"\n[data]\ntrain = \"x\"\nformat = \"samples\"\n"
                             "seq_len = 512\n[batch]\nmicro = 1\n[train]\nsteps = 1\n";
    ds::ModelConfig model =
        ds::make_train_config(ds::read_toml(text, "train.toml", "/"), "train.toml", 1).model;
    model.vocab = model.tokens;  // without the rows that pad it
    CHECK(ds::total_parameters(model, 512) == row.parameters);
  }
}

// Counted by transformers 5.23 of T5ForConditionalGeneration on its meta device; of T5 1.1 and Flan
// with the lm_head that their files hold.
TEST_CASE("the presets of T5 have transformers' numbers of parameters") {
  struct Row {
    std::string preset;
    double parameters;
  };
  for (const Row& row :
       {Row{"t5-small", 60'506'624}, Row{"t5-base", 222'903'552}, Row{"t5-large", 737'668'096},
        Row{"t5-3b", 2'851'598'336}, Row{"t5-11b", 11'307'321'344},
        Row{"t5-v1.1-small", 76'961'152}, Row{"flan-t5-small", 76'961'152},
        Row{"t5-v1.1-base", 247'577'856}, Row{"flan-t5-base", 247'577'856},
        Row{"t5-v1.1-large", 783'150'080}, Row{"flan-t5-large", 783'150'080},
        Row{"t5-v1.1-xl", 2'849'757'184}, Row{"flan-t5-xl", 2'849'757'184},
        Row{"t5-v1.1-xxl", 11'135'332'352}, Row{"flan-t5-xxl", 11'135'332'352}}) {
    CAPTURE(row.preset);
    const std::string text = "[model]\npreset = \"" + row.preset +
                             "\"\n[data]\ntrain = \"x\"\nformat = \"samples\"\n"
                             "seq_len = 512\nencoder_len = 512\n[batch]\nmicro = 1\n"
                             "[train]\nsteps = 1\n";
    const ds::ModelConfig model =
        ds::make_train_config(ds::read_toml(text, "train.toml", "/"), "train.toml", 1).model;
    CHECK(ds::total_parameters(model, 512) == row.parameters);
  }
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
