// Tests of [lora]: its keys, and the adapter_config.json of lora.from.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config_helpers.h"

namespace {

constexpr const char* kModel =
    "[model]\npreset = \"llama-tiny\"\n[data]\ntrain = \"a.txt\"\nseq_len = 32\n[batch]\nmicro = "
    "2\naccum = 1\n[train]\nsteps = 10\n";

/// A folder with an adapter_config.json.
class AdapterFolder {
 public:
  explicit AdapterFolder(const std::string& json) {
    std::filesystem::create_directories(path());
    std::ofstream(path() + "/adapter_config.json") << json;
  }
  ~AdapterFolder() { std::filesystem::remove_all(path()); }
  AdapterFolder(const AdapterFolder&) = delete;
  [[nodiscard]] static std::string path() {
    return (std::filesystem::temp_directory_path() / ("ds_lora_" + std::to_string(getpid())))
        .string();
  }
  [[nodiscard]] static std::vector<std::string> with(std::vector<std::string> keys) {
    keys.insert(keys.begin(), "lora.from=" + path());
    return keys;
  }
};

std::string adapter_error(const std::string& json, const std::vector<std::string>& keys = {}) {
  const AdapterFolder folder(json);
  return error_of(kModel, folder.with(keys));
}

}  // namespace

TEST_CASE("alpha is the rank unless given; the scale follows alpha, rank and rslora") {
  CHECK(config_of(kModel, {}).lora == ds::LoraConfig{});
  const ds::LoraConfig plain = config_of(kModel, {"lora.rank=4"}).lora;
  CHECK(plain.alpha == 4);
  CHECK(plain.scale() == 1);
  CHECK(plain.targets == std::vector<std::string>{"all-linear"});
  CHECK(config_of(kModel, {"lora.rank=4", "lora.alpha=6"}).lora.scale() == 1.5);
  CHECK(config_of(kModel, {"lora.rank=4", "lora.alpha=6", "lora.rslora=true"}).lora.scale() == 3);
}

TEST_CASE("keys of [lora] without a rank, and train.freeze beside one, are refused") {
  CHECK(has(error_of(kModel, {"lora.dropout=0.1"}), "the keys of [lora] need lora.rank"));
  CHECK(has(error_of(kModel, {"lora.rank=4", "train.freeze=norm*"}),
            "train.freeze does not apply with lora.rank"));
  CHECK(has(error_of(kModel, {"lora.rank=4", "lora.targets=[]"}), "lora.targets names no layer"));
}

TEST_CASE("a PEFT folder sets rank, alpha, rslora and targets; keys beside it may say the same") {
  const AdapterFolder folder(R"({"peft_type": "LORA", "r": 4, "lora_alpha": 10, "bias": "none",
      "target_modules": ["v_proj", "q_proj"], "lora_dropout": 0.5, "modules_to_save": null,
      "rank_pattern": {}, "use_dora": false, "some_later_key": null})");
  const ds::LoraConfig read = config_of(kModel, folder.with({})).lora;
  CHECK(read.rank == 4);
  CHECK(read.alpha == 10);
  CHECK(!read.rslora);
  CHECK(read.dropout == 0);
  CHECK(read.targets == std::vector<std::string>{"q_proj", "v_proj"});
  CHECK(config_of(kModel, folder.with({"lora.rank=4", "lora.alpha=10"})).lora == read);
}

TEST_CASE("all that a PEFT folder says wrongly, or that is not built, is listed") {
  const std::string error = adapter_error(
      R"({"peft_type": "LOHA", "r": 0, "lora_alpha": "x", "bias": "all", "target_modules": "q.*",
          "modules_to_save": ["lm_head"], "use_dora": true, "init_lora_weights": "pissa",
          "rank_pattern": {"q_proj": 3}, "use_rslora": 1})");
  CHECK(has(error, "adapter_config.json does not fit:"));
  for (const char* line :
       {"peft_type: \"LOHA\"; only LORA", "r: 0; expected a number", "lora_alpha: \"x\"; expected",
        "bias: \"all\"; only none", "target_modules: \"q.*\"; expected a list",
        "\"modules_to_save\": [\"lm_head\"]; not supported", "\"use_dora\": true; not supported",
        "init_lora_weights: \"pissa\"; it may change", "\"rank_pattern\": {\"q_proj\":3}; not",
        "use_rslora: 1; expected true or false"}) {
    CAPTURE(line);
    CHECK(has(error, line));
  }
  CHECK(has(adapter_error(R"({"r": 8, "target_modules": ["q_proj"]})", {"lora.rank=4"}),
            "r: 8, lora.rank = 4"));
  CHECK(has(adapter_error("[1]"), "is not a JSON object"));
}
