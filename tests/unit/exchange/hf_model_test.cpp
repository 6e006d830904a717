// Tests of the mapping between Hugging Face's tensors and ours, and of what config.json may say.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/config/hf_config.h"
#include "engine/exchange/hf_config_json.h"
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
    CHECK(ds::hf_config_mismatches(text, config, 16).empty());
    ds::ModelConfig other = config;
    other.layers = 4;
    other.norm_eps = 1e-6;
    const auto lines = ds::hf_config_mismatches(text, other, 16);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].find(": 3, model.layers = 4") != std::string::npos);
    CHECK(lines[1].find(": 1e-05, model.norm_eps = 1e-06") != std::string::npos);
  }
  const ds::ModelConfig gpt2 = config_of("gpt2", true);
  CHECK(ds::hf_config_mismatches(R"({"model_type": "llama"})", gpt2, 16).front() ==
        "model_type: \"llama\", model.arch = \"gpt2\"");
  // An empty config means transformers' defaults.
  CHECK(ds::hf_config_mismatches("{}", gpt2, 16).front() ==
        "n_layer: 12 (not given), model.layers = 3");
  CHECK_THROWS_AS(ds::hf_config_mismatches("[", gpt2, 16), ds::Error);
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
            "rope_parameters.rope_theta: 10000.0, model.rope_theta = 500000.0"},
        Row{R"({"rope_type": "default"})",
            "rope_parameters.rope_theta: 10000.0 (not given), model.rope_theta = 500000.0"},
        Row{R"({"full_attention": {"rope_theta": 500000.0}, "rope_theta": 500000.0})",
            R"(rope_parameters: {"full_attention":{"rope_theta":500000.0},"rope_theta":500000.0}; )"
            R"("full_attention" is not supported)"},
        Row{R"({"rope_theta": 500000.0, "rope_type": "yarn"})",
            R"(rope_parameters.rope_type: "yarn"; only default, linear and llama3 are supported)"},
        Row{R"({"rope_theta": 500000.0, "rope_type": "linear", "factor": "two"})",
            R"(rope_parameters.rope_type: "linear", model.rope_scaling = "none")"
            R"(|rope_parameters.factor: "two"; expected a number)"},
        Row{"7", "rope_parameters: 7; not an object"}}) {
    CAPTURE(row.rope_parameters);
    nlohmann::json json = plain;
    json.erase("rope_theta");
    json.erase("rope_scaling");
    json["rope_parameters"] = nlohmann::json::parse(row.rope_parameters);
    const auto lines = ds::hf_config_mismatches(json.dump(), llama, 16);
    CHECK(fmt::format("{}", fmt::join(lines, "|")) == row.line);
  }
}

TEST_CASE("what the two places of rotary angles say must agree") {
  ds::ModelConfig llama = config_of("llama", false);
  llama.rope_theta = 500000;
  nlohmann::json json = nlohmann::json::parse(ds::hf_config_json(llama, 256, 16, ds::DType::bf16));
  json["rope_parameters"] = {{"rope_theta", 500000.0}};
  CHECK(ds::hf_config_mismatches(json.dump(), llama, 16).empty());
  json["rope_theta"] = 10000.0;
  CHECK(ds::hf_config_mismatches(json.dump(), llama, 16) ==
        std::vector<std::string>{"rope_theta: 10000.0; rope_parameters has another value"});
}

TEST_CASE("Llama's family: written configs match, and scaled angles and windows are read") {
  ds::ModelConfig model = config_of("llama", false);
  model.head_size = 20;
  for (const char* arch : {"llama", "mistral", "qwen2"}) {
    CAPTURE(arch);
    model.arch = arch;
    for (const ds::RopeScaling scaling :
         {ds::RopeScaling::none, ds::RopeScaling::linear, ds::RopeScaling::llama3}) {
      model.rope_scaling = scaling;
      model.rope_factor = scaling == ds::RopeScaling::none ? 1 : 8;
      const std::string text = ds::hf_config_json(model, 256, 16, ds::DType::bf16);
      CHECK(ds::hf_config_mismatches(text, model, 16).empty());
      ds::ModelConfig other = model;
      other.head_size = 0;
      other.rope_factor = 32;
      const std::size_t differing = scaling == ds::RopeScaling::none ? 1 : 2;
      CHECK(ds::hf_config_mismatches(text, other, 16).size() == differing);
    }
  }
  nlohmann::json json = nlohmann::json::parse(ds::hf_config_json(model, 256, 16, ds::DType::f32));
  json["use_sliding_window"] = true;
  json["sliding_window"] = 512;
  CHECK(ds::hf_config_mismatches(json.dump(), model, 512).empty());
  CHECK(ds::hf_config_mismatches(json.dump(), model, 513) ==
        std::vector<std::string>{
            "sliding_window: 512; a window shorter than data.seq_len = 513 is not built"});
  json["model_type"] = "bert";
  CHECK(ds::read_hf_config(json.dump(), "", 0).refused.front() ==
        "model_type: \"bert\"; only gpt2, llama, mistral and qwen2 are supported");
}
