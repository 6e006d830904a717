// Tests of adapters in PEFT's form: names, adapter_config.json, and folders that do not fit.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/config/peft_config.h"
#include "engine/exchange/adapter_tensors.h"
#include "engine/exchange/peft_folder.h"
#include "tests/unit/exchange/small_models.h"

namespace {

ds::ModelConfig adapter_model(const std::string& arch) {
  ds::ModelConfig config = config_of(arch, ds::ModelConfig{}.tied);
  config.layers = 2;
  config.kv_heads = arch == "gpt2" ? 6 : 2;
  return config;
}

std::vector<ds::LinearModule> of_layers(std::vector<ds::LinearModule> modules,
                                        const std::vector<std::string>& ends) {
  std::erase_if(modules, [&](const ds::LinearModule& module) {
    return std::ranges::none_of(ends,
                                [&](const std::string& end) { return ds::is_target(end, module); });
  });
  return modules;
}

/// A folder with an adapter_model.safetensors.
class PeftFiles {
 public:
  explicit PeftFiles(const std::vector<ds::SafetensorsEntry>& entries,
                     const std::vector<float>& values) {
    std::filesystem::create_directories(path());
    std::ofstream file(path() + "/adapter_model.safetensors", std::ios::binary);
    file << ds::safetensors_header(entries);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  ~PeftFiles() { std::filesystem::remove_all(path()); }
  PeftFiles(const PeftFiles&) = delete;
  [[nodiscard]] static std::string path() {
    return (std::filesystem::temp_directory_path() / ("ds_peft_" + std::to_string(getpid())))
        .string();
  }
};

}  // namespace

TEST_CASE("modules have Hugging Face's names, and the columns of our fused weights") {
  const auto modules = ds::linear_modules(adapter_model("llama"), 16);
  const auto k =
      std::ranges::find(modules, "model.layers.1.self_attn.k_proj", &ds::LinearModule::name);
  REQUIRE(k != modules.end());
  CHECK(k->ours == "layers.1.self_attn.k_proj");
  CHECK(k->weight == "layers.1.self_attn.qkv_proj.weight");
  CHECK(k->first_column == 48);
  CHECK(k->columns == 16);
  CHECK(ds::peft_name(adapter_model("llama"), k->ours + std::string(ds::kLoraA)) ==
        "base_model.model.model.layers.1.self_attn.k_proj.lora_A.weight");
  CHECK(ds::peft_name(adapter_model("gpt2"), "h.0.attn.c_attn.lora_B.weight") ==
        "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight");
}

TEST_CASE("adapter_config.json names last words where they stand for all, and reads back") {
  const auto all = ds::linear_modules(adapter_model("llama"), 16);
  const ds::LoraConfig lora{.rank = 4, .alpha = 6, .rslora = true, .dropout = 0.25};
  const std::string text = ds::peft_config_json(adapter_model("llama"), lora, all,
                                                of_layers(all, {"q_proj", "layers.1.mlp.up_proj"}));
  const auto json = nlohmann::json::parse(text);
  CHECK(json["target_modules"] == nlohmann::json{"q_proj", "model.layers.1.mlp.up_proj"});
  CHECK(json["lora_alpha"] == 6);
  CHECK(json["fan_in_fan_out"] == false);
  const ds::PeftConfig read = ds::read_peft_config(text);
  CHECK(read.refused.empty());
  CHECK(read.fields.size() == 4);
}

TEST_CASE("a folder's tensors are the transposes of ours; all that does not fit is listed") {
  const std::string a = "layers.0.mlp.up_proj.lora_A.weight",
                    b = "layers.0.mlp.up_proj.lora_B.weight";
  const ds::ModelConfig model = adapter_model("llama");
  const auto entry = [&](const std::string& name, std::int64_t rows, std::int64_t columns,
                         std::int64_t from) {
    return ds::SafetensorsEntry{.name = name,
                                .shape = {rows, columns},
                                .from = 4 * from,
                                .to = 4 * (from + rows * columns)};
  };
  const PeftFiles files({entry(ds::peft_name(model, a), 2, 3, 0),
                         entry(ds::peft_name(model, b), 4, 2, 6), entry("strange", 1, 1, 14)},
                        {1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7, 9});
  const auto refusal = [&](const std::vector<ds::AdapterShape>& wanted) {
    try {
      ds::PeftFolder(files.path(), model, wanted);
    } catch (const ds::Error& error) {
      CHECK(error.kind() == ds::ErrorKind::config);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string error = refusal({{a, 3, 2}, {b, 2, 5}, {"layers.1.x.lora_A.weight", 1, 1}});
  CHECK(error.find("up_proj.lora_B.weight: [4, 2] in the file, [5, 2] in this model") !=
        std::string::npos);
  CHECK(error.find("layers.1.x.lora_A.weight: missing") != std::string::npos);
  CHECK(error.find("strange: this model has no such adapter") != std::string::npos);
  CHECK(error.find("lora_A.weight: [") == std::string::npos);  // a fits
}

TEST_CASE("a folder is read in our order, from any element on") {
  const std::string a = "layers.0.mlp.up_proj.lora_A.weight";
  const ds::ModelConfig model = adapter_model("llama");
  const PeftFiles files({{.name = ds::peft_name(model, a), .shape = {2, 3}, .from = 0, .to = 24}},
                        {1, 2, 3, 4, 5, 6});
  const ds::PeftFolder folder(files.path(), model, {{a, 3, 2}});
  std::vector<float> read(6);
  folder.read(a, 0, read);
  CHECK(read == std::vector<float>{1, 4, 2, 5, 3, 6});
  std::vector<float> part(3);
  folder.read(a, 2, part);
  CHECK(part == std::vector<float>{2, 5, 3});
}
