// Tests of model.from: keys given beside the folder, and folders that are no model.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config_helpers.h"

namespace {

constexpr const char* kSizeless =
    "[data]\ntrain = \"a.txt\"\nseq_len = 32\n[batch]\nmicro = 2\naccum = 1\n[train]\nsteps = 10\n";
constexpr const char* kLlama =
    R"({"model_type": "llama", "vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96)";

/// A folder with a config.json.
class Folder {
 public:
  explicit Folder(const std::string& json) {
    std::filesystem::remove_all(path());
    std::filesystem::create_directories(path());
    std::ofstream(path() + "/config.json") << json;
  }
  ~Folder() { std::filesystem::remove_all(path()); }
  Folder(const Folder&) = delete;
  [[nodiscard]] static std::string path() {
    return (std::filesystem::temp_directory_path() / ("ds_from_" + std::to_string(getpid())))
        .string();
  }
  /// Returns the overrides that begin with the folder.
  [[nodiscard]] static std::vector<std::string> with(std::vector<std::string> keys) {
    keys.insert(keys.begin(), "model.from=" + path());
    return keys;
  }
};

std::string error_beside(const std::string& json, const std::vector<std::string>& keys = {}) {
  const Folder folder(json);
  return error_of(kSizeless, folder.with(keys));
}

}  // namespace

TEST_CASE("a folder sets the sizes; keys beside it may say the same") {
  const Folder folder(std::string(kLlama) + "}");
  const ds::ModelConfig plain = config_of(kSizeless, folder.with({})).model;
  CHECK(plain.arch == "llama");
  CHECK(plain.hidden == 64);
  CHECK(plain.kv_heads == 2);
  CHECK(plain.head_size == 0);
  CHECK(plain.norm_eps == 1e-6);
  CHECK(plain.init == folder.path());
  const std::vector<std::string> same{"model.heads=4", "model.head_size=16",
                                      "model.rope_theta=1e4"};
  CHECK(config_of(kSizeless, folder.with(same)).model == plain);
}

TEST_CASE("all that a folder says wrongly or otherwise is listed, in its own words") {
  const std::string error = error_beside(
      std::string(kLlama) + R"(, "head_dim": 20, "rope_theta": 1e13, "rms_norm_eps": 0})",
      {"model.head_size=16", "model.layers=3"});
  CHECK(has(error, "config.json does not fit:"));
  CHECK(has(error, "\n  num_hidden_layers: 2, model.layers = 3\n"));  // a line each
  CHECK(has(error, "head_dim: 20, model.head_size = 16"));
  CHECK(has(error, "rope_theta: 10000000000000.0, model.rope_theta must be a number, 1 to"));
  CHECK(has(error, "rms_norm_eps: 0, model.norm_eps must be a number, 1e-12 to 1"));
}

TEST_CASE("a folder of RoBERTa sets types, activation, and the first position from the padding") {
  const Folder folder(R"({"model_type": "roberta", "vocab_size": 300, "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
      "hidden_act": "gelu_new", "layer_norm_eps": 1e-5, "type_vocab_size": 1, "pad_token_id": 3,
      "max_position_embeddings": 40})");
  const ds::ModelConfig model = config_of(kSizeless, folder.with({"data.format=samples"})).model;
  CHECK(model.arch == "roberta");
  CHECK(model.activation == ds::FeedForward::gelu_tanh);
  CHECK(model.type_vocab == 1);
  CHECK(model.first_position == 4);
  CHECK(model.norm_eps == 1e-5);
  CHECK(model.tokens == 300);
  CHECK(has(error_of(kSizeless, folder.with({"data.format=samples", "data.seq_len=37"})),
            "max_position_embeddings: 40; data.seq_len = 37 needs 41"));
}

TEST_CASE("a large base of the rotary angles, as models for a million positions have it") {
  const Folder folder(std::string(kLlama) + R"(, "rope_theta": 3580165449.0})");
  CHECK(config_of(kSizeless, folder.with({})).model.rope_theta == 3580165449.0);
}

TEST_CASE("a config.json without model_type needs model.arch") {
  CHECK(has(error_beside("{}"), "model_type: not given; only gpt2, llama"));
  const Folder folder("{}");
  CHECK(config_of(kSizeless, folder.with({"model.arch=gpt2"})).model.hidden == 768);
}

TEST_CASE("a config.json that is not a short file is refused") {
  const Folder folder("{}");
  std::filesystem::remove(folder.path() + "/config.json");
  const std::string missing = error_of(kSizeless, folder.with({}));
  CHECK(has(missing, "config.json: cannot be read"));
  CHECK(missing.find("override 1") == missing.rfind("override 1"));  // the place is named once
  std::filesystem::create_directories(folder.path() + "/config.json");
  CHECK(has(error_of(kSizeless, folder.with({})), "config.json: cannot be read"));
  CHECK(has(error_beside(std::string(std::size_t{1} << 21, ' ')), "is longer than 1 MiB"));
}

TEST_CASE("windows: a folder's, a preset's, and architectures that have none") {
  const Folder folder(
      R"({"model_type": "qwen3", "vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
          "use_sliding_window": true, "sliding_window": 8, "max_window_layers": 1})");
  const ds::ModelConfig qwen = config_of(kSizeless, folder.with({})).model;
  CHECK(qwen.window == 8);
  CHECK(qwen.full_layers == 1);
  CHECK(qwen.head_size == 128);  // transformers' default for Qwen3
  CHECK(config_of(kSizeless, {"model.preset=mistral-7b-v0.1"}).model.window == 4096);
  CHECK(config_of(kSizeless, {"model.preset=mistral-7b"}).model.window == 0);
  const auto error = [](const std::string& preset, const std::string& key) {
    return error_of(kSizeless, {"model.preset=" + preset, key});
  };
  CHECK(has(error("llama-tiny", "model.window=8"),
            "model.window does not apply to arch = \"llama\""));
  CHECK(has(error("gpt-tiny", "model.window=8"),
            "model.window does not apply to arch = \"gpt2\": its attention sees all before"));
  CHECK(has(error("mistral-7b-v0.1", "model.full_layers=1"),
            "model.full_layers does not apply to arch = \"mistral\""));
  CHECK(has(error("qwen3-0.6b", "model.full_layers=1"), "model.full_layers needs model.window"));
}
