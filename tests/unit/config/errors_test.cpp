// Tests of config errors: one clear message with place and hint for each kind of mistake.
#include "config_helpers.h"
#include "support/temp_folder.h"

TEST_CASE("an unknown key is named with its place and the nearest key") {
  const std::string text =
      std::string(kSmallest) + "[optimizer]\nlearning_rate = 1.0\nwieght_decay = 0.1\n";
  const std::string error = error_of(text);
  CHECK(has(error,
            "t.toml:13:1: unknown key \"optimizer.wieght_decay\"; did you mean "
            "\"optimizer.weight_decay\"?\n  wieght_decay = 0.1\n  ^"));
  CHECK(
      has(error, "t.toml:12:1: unknown key \"optimizer.learning_rate\""));  // all errors are listed
  CHECK(has(error, "hint: docs/config.md lists every key"));
  CHECK(has(error_with({"modle.layers=3"}),
            "override 1: unknown key \"modle.layers\"; did you mean \"model.layers\"?\n  "
            "modle.layers=3\n  ^"));
  CHECK(has(error_with({"train.lr=1"}),
            "did you mean \"optimizer.lr\"?"));  // right name, wrong section
  CHECK(has(error_of(std::string(kSmallest) + "[optimiser]\n"), "unknown key \"optimiser\""));
  CHECK(error_of(std::string(kSmallest) + "[optimizer]\n") == "no error");
}

TEST_CASE("errors about type or range say what is expected and what was given") {
  CHECK(has(error_with({"train.steps=ten"}),
            "override 1: train.steps must be an integer, at least 1, not the string \"ten\"\n  "
            "train.steps=ten\n              ^"));
  CHECK(has(error_with({"train.steps=1.5"}), "not the number 1.5"));
  CHECK(has(error_with({"batch.micro=0"}),
            "batch.micro must be an integer, 1 to 65536, not the integer 0"));
  CHECK(has(error_with({"optimizer.lr=-1"}), "optimizer.lr must be a number, 0 to 1000"));
  CHECK(has(error_with({"optimizer.lr=nan"}), "not the number nan"));
  CHECK(has(error_with({"optimizer.betas=[0.9]"}),
            "must be two numbers, 0 to 0.999999, not a list of 1"));
  CHECK(has(error_with({"optimizer.betas=[0.9, 1.0]"}), "must be two numbers"));
  CHECK(has(error_with({"precision.dtype=bf61"}),
            "must be \"fp32\", \"bf16\", \"fp16\", not the string"));
  CHECK(has(error_with({"precision.dtype=bf61"}), "did you mean \"bf16\"?"));
  CHECK(has(error_with({"data.train=[]"}), "must be file patterns, not a list of 0"));
  CHECK(has(error_with({"data.train=[1]"}), "must be file patterns"));
  CHECK(has(error_with({"optimizer.no_decay=[1]"}),
            "must be a list of \"norms\", \"biases\" and patterns, not a list of 1"));
  CHECK(has(error_with({"optimizer.no_decay=\"\""}), "must be a list of"));
  CHECK(has(error_with({"data.validation=0.95"}), "a fraction, 0 to 0.9"));
  CHECK(has(error_with({"data.validation={web = 0.5}"}),
            "data.validation.web must be file patterns, not the number 0.5"));
  CHECK(has(error_with({"data.validation={web = []}"}),
            "data.validation.web must be file patterns, not a list of 0"));
  CHECK(has(error_with({"data.validation={\"a b\" = \"x\"}"}),
            "data.validation: \"a b\" cannot be the name of a set"));
  CHECK(has(error_with({"data.validation={\"\" = \"x\"}"}), "cannot be the name of a set"));
  CHECK(
      has(error_with({"data.validation={a.b = \"x\"}"}), "a name with a point is quoted: \"a.b\""));
  CHECK(has(error_with({"data.train={web = \"x\"}"}), "must be file patterns, not a table of 1"));
  CHECK(has(error_with({"sample.prompt=5"}), "must be a string"));
  CHECK(has(error_with({"log.dir=2024-01-01"}), "not a date or a table"));
  CHECK(has(error_with({"model=3"}), "override 1: model is a section, not a key"));
  CHECK(has(error_with({"precision.loss_scale=128"}),
            "its keys are written under [precision.loss_scale], or as "
            "precision.loss_scale.static = ..."));
}

TEST_CASE("reserved keys and values are refused, never ignored") {
  for (const char* assignment :
       {"model.rope_scaling=yarn", "precision.grad_accum=bf16", "optimizer.muon=1"}) {
    CHECK(has(error_with({assignment}), "is not implemented yet"));
  }
}

TEST_CASE("[data]: tasks belong to models, and keys to tasks") {
  CHECK(has(error_with({"data.tokenizer=none.json"}), "none.json: cannot be read"));
  CHECK(has(error_with({"data.task=masked"}), "arch = \"gpt2\" does not learn this data.task"));
  CHECK(has(error_with({"data.task=response"}), "has one text in a file"));
  CHECK(has(error_with({"data.fields=[\"a\"]"}),
            "applies to data.format = \"jsonl\" and \"parquet\" alone"));
  CHECK(has(error_with({"data.rows=whole", "data.join=true"}), "data.join does not apply"));
  CHECK(has(error_with({"data.weights=[1, 2]"}), "data.weights has 2 numbers, data.train 1"));
  CHECK(has(error_with({"data.weights=[0]"}), "must be a list of numbers, 1e-06 to"));
  CHECK(config_of(kSmallest, {"data.format=jsonl"}).data.json_fields ==
        std::vector<std::string>{"text"});
  CHECK(config_of(kSmallest, {"data.format=jsonl", "data.task=response"}).data.rows ==
        ds::RowKind::whole);
}

TEST_CASE("BERT: keys of others and its keys for others; no text and no continued text") {
  for (const char* assignment :
       {"model.activation=relu", "model.type_vocab=2", "model.first_position=1"}) {
    CHECK(has(error_with({assignment}), " does not apply to arch = \"gpt2\""));
    CHECK(has(error_with({"model.preset=llama-tiny", assignment}),
              " does not apply to arch = \"llama\""));
  }
  const std::string bert =
      "[model]\narch = \"bert\"\nlayers = 2\nhidden = 64\nheads = 2\nvocab = 300\n[data]\n"
      "train = \"a\"\nformat = \"samples\"\nseq_len = 32\n[batch]\nmicro = 2\n[train]\n"
      "steps = 10\n";
  CHECK(error_of(bert) == "no error");
  CHECK(has(error_of(bert, {"model.rope_theta=5e5"}),
            "model.rope_theta does not apply to arch = \"bert\": its positions are learned"));
  CHECK(has(error_of(bert, {"model.kv_heads=1"}), "model.kv_heads does not apply"));
  CHECK(has(error_of(bert, {"model.tied=false"}), "model.tied does not apply"));
  CHECK(has(error_of(bert, {"data.format=text"}), "needs a tokenizer with a mask token"));
  CHECK(has(error_of(bert, {"sample.tokens=5", "sample.prompt=1 2"}), "does not continue a text"));
}

TEST_CASE("texts of an own chat template need chat_template = own") {
  const std::string user = "data.chat_user=\"<u>{content}\"";
  CHECK(has(error_with({user}),
            "data.chat_user has no effect with data.chat_template = \"auto\""));
  CHECK(has(error_with({"data.chat_begin=x", "data.chat_template=chatml"}),
            "data.chat_begin has no effect with data.chat_template = \"chatml\""));
  CHECK(error_with({user, "data.chat_template=own"}) == "no error");
}

TEST_CASE("T5: keys of others and its keys for others; data of two sequences") {
  for (const char* assignment : {"model.decoder_layers=2", "model.relative_buckets=16",
                                 "model.scaled=true", "data.encoder_len=8"})
    CHECK(has(error_with({assignment}), " does not apply to arch = \"gpt2\""));
  const std::string t5 =
      "[model]\narch = \"t5\"\nlayers = 2\nhidden = 64\nheads = 2\nvocab = 300\n[data]\n"
      "train = \"a\"\nformat = \"samples\"\nseq_len = 32\nencoder_len = 48\n[batch]\nmicro = 2\n"
      "[train]\nsteps = 10\n";
  CHECK(error_of(t5) == "no error");
  CHECK(has(error_of(t5, {"model.rope_theta=5e5"}), "its positions are distances"));
  CHECK(has(error_of(t5, {"model.type_vocab=2"}), "does not apply to arch = \"t5\""));
  CHECK(has(error_of(t5, {"model.kv_heads=1"}), "model.kv_heads does not apply"));
  CHECK(has(error_of(t5, {"model.activation=gelu"}), "\"gated_gelu\", as T5 1.1"));
  CHECK(has(error_of(t5, {"model.relative_distance=16"}), "is not above half of"));
  CHECK(has(error_of(t5, {"data.format=text"}), "has one text in a file"));
  CHECK(has(error_of(t5, {"data.encoder_len=0"}), "missing key data.encoder_len"));
  CHECK(has(error_of(t5, {"sample.tokens=5", "sample.prompt=1 2", "data.encoder_len=1"}),
            "sample.prompt has 2 tokens, the encoder reads 1"));
  CHECK(has(error_of(t5, {"data.format=jsonl", "sample.tokens=5", "sample.prompt=too long",
                          "data.encoder_len=7"}),
            "sample.prompt has 8 tokens, the encoder reads 7"));
}

TEST_CASE("a prompt of which the tokenizer makes no tokens is refused before the training") {
  const ds::test::TempFolder folder;
  const std::string tokenizer =
      "data.tokenizer=" + folder.file("tokenizer.json", R"({
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}}})");
  CHECK(error_with({tokenizer, "sample.tokens=0"}) == "no error");
  CHECK(error_with({tokenizer, "sample.tokens=5", "sample.prompt=a"}) == "no error");
  CHECK(has(error_with({tokenizer, "sample.tokens=5", "sample.prompt=\" \""}),
            "tokenizer.json makes no tokens of sample.prompt"));
  CHECK(has(error_with({tokenizer, "sample.tokens=5"}),
            "makes no tokens of a newline, for which an empty sample.prompt stands"));
}

TEST_CASE("keys of another architecture, and heads that do not fit, are refused") {
  CHECK(has(error_with({"model.kv_heads=1"}), "model.kv_heads does not apply to arch = \"gpt2\""));
  CHECK(has(error_with({"model.tied=false"}), "model.tied does not apply to arch = \"gpt2\""));
  CHECK(has(error_with({"model.rope_theta=5e5"}),
            "model.rope_theta does not apply to arch = \"gpt2\""));
  CHECK(has(error_with({"model.preset=llama-tiny", "model.kv_heads=3"}),
            "does not divide model.heads"));
  CHECK(has(error_with({"model.arch=gpt2", "model.preset=llama-tiny"}),
            "model.preset = \"llama-tiny\" is a llama, not a gpt2"));
  CHECK(has(error_with({"model.preset=llama-tiny", "model.hidden=12"}),
            "a head has 3 elements, but rotary positions need an even number"));
  CHECK(
      has(error_with({"model.head_size=8"}), "model.head_size does not apply to arch = \"gpt2\""));
  CHECK(has(error_with({"model.rope_scaling=linear"}),
            "model.rope_scaling does not apply to arch = \"gpt2\""));
  CHECK(has(error_with({"model.rope_factor=8"}),
            "model.rope_factor does not apply to arch = \"gpt2\""));
  CHECK(has(error_with({"model.preset=llama-tiny", "model.rope_factor=8"}),
            "model.rope_factor needs model.rope_scaling"));
  CHECK(has(error_with({"model.preset=llama-tiny", "model.rope_scaling=linear",
                        "model.rope_factor=2", "model.rope_trained=4096"}),
            "model.rope_trained needs model.rope_scaling = \"llama3\""));
  CHECK(has(error_with({"model.preset=llama3.1-8b", "model.rope_low=4"}),
            "model.rope_high = 4 is not above model.rope_low = 4"));
}

TEST_CASE("invalid TOML is shown with its place") {
  CHECK(has(error_of("[model\nlayers = 2\n"), "t.toml:1:7: invalid TOML: "));
  CHECK(has(error_of("a = 1\na = 2\n"), "t.toml:2:"));
  CHECK(has(error_of("\xff\xfe"), "invalid TOML"));
  CHECK(has(error_with({"steps"}), "override 1: the string \"steps\" is not key=value"));
  CHECK(has(error_with({"=3"}), "is not key=value"));
  CHECK(has(error_with({"sample.prompt=a\xe9"}),
            "override 1: the value of sample.prompt is not UTF-8"));
  CHECK(has(error_with({"train.steps=3", "data.train=[\"a"}),
            "override 2: the string \"[\\\"a\" is not a TOML value"));
}

TEST_CASE("missing keys are named with an example") {
  CHECK(has(error_of(""), "t.toml: missing key model.layers"));
  CHECK(has(error_of("[model]\npreset = \"gpt-tiny\"\n"), "t.toml: missing key data.train"));
  CHECK(has(error_of("[model]\nlayers = 1\nhidden = 8\n"), "missing key model.heads"));
  CHECK(has(error_of("[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"x\"\nseq_len = "
                     "8\n[batch]\nmicro = 1\n"),
            "missing key train.steps"));
}

TEST_CASE("errors about contradicting keys point at one of them") {
  CHECK(has(error_with({"model.heads=7"}),
            "override 1: model.hidden = 64 is not a multiple of model.heads = 7"));
  CHECK(has(error_with({"schedule.warmup=11"}),
            "schedule.warmup = 11 is longer than schedule.total = 10"));
  CHECK(has(error_with({"schedule.min_lr=0.5"}),
            "schedule.min_lr = 0.5 is above optimizer.lr = 0.001"));
  CHECK(has(error_with({"model.vocab=100"}), "less than the 256 tokens"));
  CHECK(has(error_with({"sample.top_k=257"}), "more than model.vocab = 256"));
}

TEST_CASE("an unreadable file is a config error") {
  const auto message = [](const std::string& path) {
    try {
      (void)ds::load_train_config({.path = path, .overrides = {}});
    } catch (const ds::Error& error) {
      CHECK(error.kind() == ds::ErrorKind::config);
      return error.for_people();
    }
    return std::string("no error");
  };
  CHECK(has(message("/nonexistent/t.toml"), "/nonexistent/t.toml: cannot be read: No such file"));
  CHECK(has(message("/"), "is a folder"));
  CHECK(has(message("/dev/zero"), "longer than 1 MiB"));
}
