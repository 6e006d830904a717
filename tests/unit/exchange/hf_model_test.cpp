// Tests of the mapping between Hugging Face's tensors and ours, and of what config.json may say.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/exchange/hf_config.h"
#include "engine/exchange/hf_tensors.h"
#include "engine/models/build_model.h"

namespace {

ds::ModelConfig config_of(const std::string& arch, bool tied) {
  ds::ModelConfig config;
  config.arch = arch;
  config.layers = 3;
  config.hidden = 48;
  config.heads = 6;
  config.kv_heads = arch == "llama" ? 2 : 6;
  config.ffn = 80;
  config.vocab = 320;
  config.tied = tied;
  return config;
}

/// Returns the elements of each of our tensors that the folder's tensors hold, all parts together.
std::map<std::string, std::int64_t> covered(const std::vector<ds::HfTensor>& tensors) {
  std::map<std::string, std::int64_t> elements;
  for (const ds::HfTensor& tensor : tensors) {
    std::int64_t count = 1;
    for (const std::int64_t extent : tensor.shape) count *= extent;
    CHECK(count == tensor.elements());
    elements[tensor.ours] += count;
  }
  return elements;
}

}  // namespace

TEST_CASE("the folder's tensors cover each of a model's tensors once") {
  for (const auto& [arch, tied] : {std::pair{"gpt2", true}, {"llama", false}, {"llama", true}}) {
    const ds::ModelConfig config = config_of(arch, tied);
    CAPTURE(config.arch);
    auto elements = covered(ds::hf_tensors(config, config.vocab, 16));
    const ds::Program program =
        ds::build_model(config, {.micro = 1, .seq_len = 16, .valid_vocab = 256});
    for (const ds::ParamGroup& group : program.groups) {
      for (const ds::ParamTensor& tensor : group.tensors) {
        CAPTURE(tensor.name);
        CHECK(elements[tensor.name] == tensor.shape.elements());
        elements.erase(tensor.name);
      }
    }
    CHECK(elements.empty());
  }
}

TEST_CASE("columns of a fused tensor are divided among the folder's; padding is left out") {
  std::map<std::string, ds::HfTensor> by_name;
  for (ds::HfTensor& tensor : ds::hf_tensors(config_of("llama", false), 256, 16))
    by_name[tensor.name] = tensor;
  const ds::HfTensor& v = by_name.at("model.layers.2.self_attn.v_proj.weight");
  CHECK(v.ours == "layers.2.self_attn.qkv_proj.weight");
  CHECK((v.first_column == 64 && v.columns == 16 && v.our_columns == 80 && v.transposed));
  CHECK(v.shape == std::vector<std::int64_t>{16, 48});
  CHECK(by_name.at("lm_head.weight").shape == std::vector<std::int64_t>{256, 48});
  CHECK(by_name.at("lm_head.weight").our_shape() == std::vector<std::int64_t>{320, 48});
}

TEST_CASE("a written config matches its model, and each differing value is named") {
  for (const auto& [arch, tied] : {std::pair{"gpt2", true}, {"llama", false}, {"llama", true}}) {
    const ds::ModelConfig config = config_of(arch, tied);
    CAPTURE(config.arch);
    const std::string text = ds::hf_config_json(config, 256, 16, ds::DType::bf16);
    CHECK(ds::hf_config_mismatches(text, config).empty());
    ds::ModelConfig other = config;
    other.layers = 4;
    other.norm_eps = 1e-6;
    const auto lines = ds::hf_config_mismatches(text, other);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].find(": 3, model.layers = 4") != std::string::npos);
    CHECK(lines[1].find(": 1e-05, model.norm_eps = 1e-06") != std::string::npos);
  }
  const ds::ModelConfig gpt2 = config_of("gpt2", true);
  CHECK(ds::hf_config_mismatches(R"({"model_type": "llama"})", gpt2).front() ==
        "model_type: \"llama\", model.arch = \"gpt2\"");
  // An empty config means transformers' defaults.
  CHECK(ds::hf_config_mismatches("{}", gpt2).front() ==
        "n_layer: 12 (not given), model.layers = 3");
  CHECK_THROWS_AS(ds::hf_config_mismatches("[", gpt2), ds::Error);
}

TEST_CASE("angles of rotary positions, where transformers 4 and 5 write them") {
  ds::ModelConfig llama = config_of("llama", false);
  llama.rope_theta = 500000;
  const nlohmann::json plain =
      nlohmann::json::parse(ds::hf_config_json(llama, 256, 16, ds::DType::bf16));
  struct Row {
    std::string rope_parameters, line;  // the only mismatch; empty for none
  };
  for (const Row& row :
       {Row{R"({"rope_theta": 500000.0, "rope_type": "default"})", ""},
        Row{R"({"rope_theta": 500000.0})", ""},
        Row{R"({"rope_theta": 10000.0, "rope_type": "default"})",
            "rope_parameters.rope_theta: 10000.0, model.rope_theta = 500000"},
        Row{R"({"rope_type": "default"})",
            "rope_parameters.rope_theta: 10000.0 (not given), model.rope_theta = 500000"},
        Row{R"({"rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0})",
            R"(rope_parameters: {"factor":8.0,"rope_theta":500000.0,"rope_type":"llama3"}; scaled )"
            "angles are not supported"},
        Row{R"({"full_attention": {"rope_theta": 500000.0}})",
            R"(rope_parameters: {"full_attention":{"rope_theta":500000.0}}; scaled )"
            "angles are not supported"},
        Row{"7", "rope_parameters: 7; scaled angles are not supported"}}) {
    CAPTURE(row.rope_parameters);
    nlohmann::json json = plain;
    json.erase("rope_theta");
    json.erase("rope_scaling");
    json["rope_parameters"] = nlohmann::json::parse(row.rope_parameters);
    const auto lines = ds::hf_config_mismatches(json.dump(), llama);
    CHECK(lines == (row.line.empty() ? std::vector<std::string>{} : std::vector{row.line}));
    // Both places at once: both count.
    json["rope_theta"] = 10000.0;
    CHECK(ds::hf_config_mismatches(json.dump(), llama).size() == lines.size() + 1);
  }
}
