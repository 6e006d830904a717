// Tests of good train.toml files: defaults, presets, overrides, paths.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config_helpers.h"

TEST_CASE("a small file gives a complete config") {
  const ds::TrainConfig config = config_of(kSmallest, {}, 2);
  CHECK(config.model.layers == 2);
  CHECK(config.model.ffn == 256);
  CHECK(config.model.vocab == 256);
  CHECK(config.batch.global == 4);
  CHECK(config.schedule.total == 10);
  CHECK(config.determinism.virtual_ranks == 2);
  CHECK(config.determinism.order == ds::ReduceOrder::boundary);
  CHECK(config.precision.dtype == ds::Precision::fp32);
}

TEST_CASE("BERT and RoBERTa: defaults of types, positions and norms, and presets") {
  const std::string sizes =
      "layers = 2\nhidden = 64\nheads = 2\nvocab = 300\n[data]\ntrain = \"a\"\n"
      "format = \"samples\"\nseq_len = 32\n[batch]\nmicro = 2\n[train]\nsteps = 10\n";
  const ds::ModelConfig bert = config_of("[model]\narch = \"bert\"\n" + sizes).model;
  CHECK((bert.type_vocab == 2 && bert.first_position == 0 && bert.norm_eps == 1e-12));
  CHECK((bert.ffn == 256 && bert.tied && bert.tokens == 300 && bert.vocab == 320));
  CHECK(bert.activation == ds::FeedForward::gelu);
  const ds::ModelConfig roberta = config_of("[model]\narch = \"roberta\"\n" + sizes).model;
  CHECK((roberta.type_vocab == 1 && roberta.first_position == 2 && roberta.norm_eps == 1e-5));
  const std::string preset =
      "[model]\npreset = \"hello-deepspeed\"\n" + sizes.substr(sizes.find("[data]"));
  const ds::ModelConfig hello = config_of(preset, {"model.first_position=3"}).model;
  CHECK((hello.layers == 6 && hello.hidden == 256 && hello.heads == 8 && hello.ffn == 512));
  CHECK((hello.tokens == 50265 && hello.type_vocab == 1 && hello.norm_eps == 1e-5));
  CHECK(hello.first_position == 3);
  CHECK(config_of(preset, {"model.preset=bert-base-cased"}).model.norm_eps == 1e-12);
}

TEST_CASE("T5: defaults of 1.0; presets of 1.1 are gated, untied and not scaled") {
  const std::string rest =
      "[data]\ntrain = \"a\"\nformat = \"samples\"\nseq_len = 32\nencoder_len = 48\n"
      "[batch]\nmicro = 2\n[train]\nsteps = 10\n";
  const ds::TrainConfig plain =
      config_of("[model]\narch = \"t5\"\nlayers = 3\nhidden = 64\nheads = 2\nvocab = 300\n" + rest);
  CHECK((plain.model.decoder_layers == 3 && plain.model.ffn == 256));
  CHECK(plain.model.activation == ds::FeedForward::relu);
  CHECK((plain.model.tied && plain.model.scaled && plain.model.norm_eps == 1e-6));
  CHECK(plain.data.fields.encoder_len == 48);
  const std::string preset = "[model]\npreset = \"t5-small\"\n" + rest;
  const ds::ModelConfig first = config_of(preset).model;
  CHECK((first.layers == 6 && first.hidden == 512 && first.head_size == 0 && first.ffn == 2048));
  CHECK((first.tied && first.scaled && first.vocab == 32128));
  const ds::ModelConfig second =
      config_of(preset, {"model.preset=flan-t5-small", "model.decoder_layers=2"}).model;
  CHECK((second.layers == 8 && second.decoder_layers == 2 && second.heads == 6));
  CHECK((second.head_size == 64 && !second.tied && !second.scaled));
  CHECK(second.activation == ds::FeedForward::gated_gelu);
}

TEST_CASE("presets give sizes; given keys override them; the vocabulary is padded to 64") {
  const ds::ModelConfig gpt2 = config_of(kSmallest, {"model.preset=gpt2-124m"}).model;
  CHECK(gpt2.hidden == 768);
  CHECK(gpt2.vocab == 50304);
  const ds::ModelConfig mine =
      config_of(kSmallest, {"model.preset=gpt2-1558m", "model.layers=3", "model.vocab=50257"})
          .model;
  CHECK(mine.layers == 3);
  CHECK(mine.hidden == 1600);
  CHECK(mine.heads == 25);
  CHECK(mine.vocab == 50304);
  CHECK(config_of(kSmallest, {"model.preset=llama-30b"}).model.norm_eps == 1e-6);
  CHECK(config_of(kSmallest, {"model.preset=llama-65b"}).model.norm_eps == 1e-5);
}

TEST_CASE("the tokens are the tokenizer's, or the vocabulary before it is padded") {
  CHECK(config_of(kSmallest, {"model.preset=gpt2-124m"}).model.tokens == 256);
  const ds::TrainConfig numbers =
      config_of(kSmallest, {"model.preset=gpt2-124m", "data.format=samples"});
  CHECK(numbers.data.tokenizer == "none");
  CHECK(numbers.model.tokens == 50257);
  CHECK(numbers.model.vocab == 50304);
  const ds::ModelConfig small =
      config_of(kSmallest, {"data.format=samples", "model.vocab=50"}).model;
  CHECK(small.tokens == 50);
  CHECK(small.vocab == 64);
  CHECK(config_of(kSmallest, {"data.format=samples", "data.tokenizer=bytes"}).model.tokens == 256);
  // As a checkpoint's config has them.
  CHECK(config_of(kSmallest, {"data.format=samples", "model.vocab=64", "model.tokens=50"})
            .model.tokens == 50);
  CHECK(has(error_with({"model.tokens=300"}), "data.tokenizer = \"bytes\" has 256 tokens"));
  CHECK(has(error_with({"data.format=samples"}), "missing key model.vocab"));
  CHECK(has(error_with({"data.tokenizer=none"}), "does not apply to text"));
  for (const char* prompt : {"sample.prompt=words", "sample.prompt=\"\"", "sample.prompt=\"50\"",
                             "sample.prompt=1 -2", "sample.prompt=1 99999999999"})
    CHECK(has(error_with({"data.format=samples", "model.vocab=50", "sample.tokens=1", prompt}),
              "needs a sample.prompt of token numbers, 0 to 49"));
  CHECK(error_with({"data.format=samples", "model.vocab=50", "sample.tokens=1",
                    "sample.prompt=\"1  49\""}) == "no error");
}

TEST_CASE("overrides take TOML and bare words, and the last one wins") {
  const ds::TrainConfig config = config_of(
      kSmallest, {"train.steps=5", "train.steps=7", "precision.dtype=bf16",
                  "sample.prompt=In the beginning", "optimizer.betas=[0.8, 0.99]", "optimizer.lr=1",
                  "determinism.order=\"step\"", " log.every = 3 ", "data.validation=0"});
  CHECK(config.train.steps == 7);
  CHECK(config.precision.dtype == ds::Precision::bf16);
  CHECK(config.sample.prompt == "In the beginning");
  CHECK(config.optimizer.betas[1] == 0.99);
  CHECK(config.optimizer.lr == 1.0);
  CHECK(config.determinism.order == ds::ReduceOrder::step);
  CHECK(config.log.every == 3);
  CHECK(config.data.validation_fraction == 0.0);
}

TEST_CASE(
    "paths start at the file's folder, in overrides at the working directory; ~ is the home") {
  CHECK(config_of(kSmallest).data.train == std::vector<std::string>{"/base/a.txt"});
  CHECK(config_of(kSmallest, {"data.train=../b/*.txt"}).data.train ==
        std::vector<std::string>{"/b/*.txt"});
  const std::vector<ds::NamedFiles> sets{{"a.b", {"/data/x"}}, {"web", {"/data/w*", "/y"}}};
  const std::string list = "web = [\"w*\", \"/y\"]", text = "\"a.b\" = \"x\"";
  CHECK(
      config_of(kSmallest, {"data.validation={" + list + ", " + text + "}"}).data.validation_sets ==
      sets);
  const std::string section =
      kSmallest + std::string("[data.validation]\n") + list + "\n\"a.b\" = \"/data/x\"\n";
  const ds::DataConfig data = config_of(section).data;
  CHECK((data.validation_sets.size() == 2 && data.validation_sets[0] == sets[0]));
  CHECK(data.validation_sets[1].files == std::vector<std::string>{"/base/w*", "/y"});
  CHECK(config_of(section, {"data.validation=v"}).data.validation_sets.empty());
  CHECK(config_of(kSmallest, {"data.validation=[\"x\", \"/y\"]"}).data.validation ==
        std::vector<std::string>{"/data/x", "/y"});
  CHECK(config_of(kSmallest, {"data.train=."}).data.train == std::vector<std::string>{"/data"});
  CHECK(config_of(kSmallest).log.dir.empty());
  const char* home = std::getenv("HOME");
  if (home != nullptr)
    CHECK(config_of(kSmallest, {"log.dir=~/r"}).log.dir == std::string(home) + "/r");
}

TEST_CASE("every file in configs/ loads") {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(DS_SOURCE_DIR "/configs")) {
    if (file.path().extension() != ".toml") continue;
    CAPTURE(file.path());
    ++files;
    // The command line names the model that finetune.toml trains.
    std::vector<std::string> overrides;
    if (file.path().filename() == "finetune.toml") overrides.emplace_back("model.preset=gpt-tiny");
    // Others read a tokenizer that the reader of configs/README.md trains.
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.find("data/tokenizer-") != std::string::npos)
      overrides.emplace_back("data.tokenizer=" DS_SOURCE_DIR
                             "/tests/golden/fixtures/tokenizer_folders/roberta");
    for (const std::int64_t world_size : {1, 2}) {
      CHECK_NOTHROW((void)ds::load_train_config(
          {.path = file.path(), .overrides = overrides, .world_size = world_size}));
    }
  }
  CHECK(files >= 4);
}
