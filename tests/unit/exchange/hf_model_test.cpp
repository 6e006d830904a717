// Tests of the mapping between Hugging Face's tensors and ours, and of what config.json may say.
#include "engine/exchange/hf_model.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "engine/config/hf_config.h"
#include "engine/exchange/hf_config_json.h"
#include "engine/exchange/hf_tensors.h"
#include "engine/models/build_model.h"
#include "tests/unit/exchange/small_models.h"

namespace {

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
  for (const auto& [arch, tied] : {std::pair{"gpt2", true},
                                   {"llama", false},
                                   {"llama", true},
                                   {"mistral", false},
                                   {"qwen2", true},
                                   {"qwen3", false},
                                   {"bert", true},
                                   {"roberta", true},
                                   {"t5", true},
                                   {"t5", false}}) {
    ds::ModelConfig config = config_of(arch, tied);
    if (config.arch == "bert" || config.arch == "roberta") config.type_vocab = 2;
    if (config.arch == "roberta") config.first_position = 2;
    if (config.arch == "mistral" || config.arch == "qwen2" || config.arch == "qwen3")
      config.head_size = 20;
    ds::DataFields fields;
    if (config.arch == "t5") {
      config.head_size = 10;
      config.decoder_layers = 2;
      config.activation = tied ? ds::FeedForward::relu : ds::FeedForward::gated_gelu;
      fields.encoder_len = 9;
    }
    CAPTURE(config.arch);
    auto elements = covered(ds::hf_tensors(config, config.vocab, 16));
    const ds::Program program =
        ds::build_model(config, {.micro = 1, .seq_len = 16, .valid_vocab = 256, .fields = fields});
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

TEST_CASE("BERT: names of the encoder and of the head; parts that a masked LM does not use") {
  ds::ModelConfig bert = config_of("bert", true);
  bert.type_vocab = 2;
  std::map<std::string, ds::HfTensor> by_name;
  for (ds::HfTensor& tensor : ds::hf_tensors(bert, 256, 16)) by_name[tensor.name] = tensor;
  const ds::HfTensor& key = by_name.at("bert.encoder.layer.1.attention.self.key.weight");
  CHECK(key.ours == "encoder.layer.1.attention.self.qkv.weight");
  CHECK((key.first_column == 48 && key.columns == 48 && key.our_columns == 144 && key.transposed));
  CHECK(by_name.at("cls.predictions.bias").shape == std::vector<std::int64_t>{256});
  CHECK(by_name.at("cls.predictions.bias").our_shape() == std::vector<std::int64_t>{320});
  CHECK(by_name.contains("cls.predictions.transform.LayerNorm.bias"));
  for (const char* const name :
       {"bert.pooler.dense.weight", "pooler.dense.bias", "cls.seq_relationship.weight",
        "bert.embeddings.position_ids", "cls.predictions.decoder.weight",
        "cls.predictions.decoder.bias"}) {
    CAPTURE(name);
    CHECK(!by_name.contains(name));
    CHECK(ds::is_no_weight(name, bert));
  }
  CHECK(!ds::is_no_weight("cls.predictions.transform.dense.weight", bert));

  ds::ModelConfig roberta = config_of("roberta", true);
  roberta.type_vocab = 1;
  roberta.first_position = 2;
  by_name.clear();
  for (ds::HfTensor& tensor : ds::hf_tensors(roberta, 256, 16)) by_name[tensor.name] = tensor;
  CHECK(by_name.at("roberta.embeddings.position_embeddings.weight").shape ==
        std::vector<std::int64_t>{18, 48});
  CHECK(by_name.contains("lm_head.layer_norm.weight"));
  CHECK(by_name.contains("lm_head.bias"));
  CHECK(ds::is_no_weight("lm_head.decoder.bias", roberta));
}

TEST_CASE("T5: names of both stacks; copies of the embedding are passed over") {
  ds::ModelConfig t5 = config_of("t5", true);
  t5.head_size = 10;
  t5.activation = ds::FeedForward::gated_gelu;
  std::map<std::string, ds::HfTensor> by_name;
  for (ds::HfTensor& tensor : ds::hf_tensors(t5, 256, 16)) by_name[tensor.name] = tensor;
  const ds::HfTensor& v = by_name.at("decoder.block.2.layer.1.EncDecAttention.v.weight");
  CHECK(v.ours == "decoder.block.2.layer.1.EncDecAttention.kv.weight");
  CHECK((v.first_column == 60 && v.columns == 60 && v.our_columns == 120 && v.transposed));
  CHECK(v.shape == std::vector<std::int64_t>{60, 48});
  const ds::HfTensor& up = by_name.at("encoder.block.0.layer.1.DenseReluDense.wi_1.weight");
  CHECK(up.ours == "encoder.block.0.layer.1.DenseReluDense.wi.weight");
  CHECK((up.first_column == 80 && up.columns == 80));
  CHECK(by_name.contains("decoder.block.0.layer.2.layer_norm.weight"));
  for (const char* const name :
       {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"}) {
    CHECK(!by_name.contains(name));
    CHECK(ds::is_no_weight(name, t5));
  }
  t5.tied = false;
  CHECK(!ds::is_no_weight("lm_head.weight", t5));
  CHECK(!ds::is_no_weight("encoder.block.1.layer.0.SelfAttention.q.weight", t5));
}

TEST_CASE("T5: where each version says that the head is scaled; what is not built is refused") {
  ds::ModelConfig t5 = config_of("t5", true);
  t5.decoder_layers = 2;
  t5.activation = ds::FeedForward::gated_gelu;
  for (const bool scaled : {false, true}) {
    t5.scaled = scaled;
    const std::string text = ds::hf_config_json(t5, 256, 16, ds::DType::bf16);
    CHECK(ds::hf_config_mismatches(text, t5, 16).empty());
    auto json = nlohmann::json::parse(text);
    json["tie_word_embeddings"] = true;  // as transformers 5 writes for every T5
    CHECK(ds::hf_config_mismatches(json.dump(), t5, 16).empty());
    json.erase("scale_decoder_outputs");
    CHECK(ds::hf_config_mismatches(json.dump(), t5, 16).size() == (scaled ? 0 : 1));
    json["tie_word_embeddings"] = scaled;  // transformers 4
    CHECK(ds::hf_config_mismatches(json.dump(), t5, 16).empty());
    json["feed_forward_proj"] = "gated-silu";
    json["is_encoder_decoder"] = false;
    const auto lines = ds::hf_config_mismatches(json.dump(), t5, 16);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "feed_forward_proj: \"gated-silu\"; only relu and gated-gelu are supported");
    CHECK(lines[1] == "is_encoder_decoder: false; only models with both stacks are supported");
    json["feed_forward_proj"] = "gated-gelu";
    json["is_encoder_decoder"] = true;
    json["dense_act_fn"] = "relu";
    CHECK(ds::hf_config_mismatches(json.dump(), t5, 16) ==
          std::vector<std::string>{"dense_act_fn: \"relu\"; only gelu_new is supported"});
  }
}

TEST_CASE("a config of BERT and RoBERTa matches its model; what is not built is refused") {
  for (const char* const arch : {"bert", "roberta"}) {
    ds::ModelConfig config = config_of(arch, true);
    config.type_vocab = 3;
    config.first_position = config.arch == "bert" ? 0 : 2;
    config.activation = ds::FeedForward::gelu_tanh;
    const std::string text = ds::hf_config_json(config, 256, 16, ds::DType::bf16);
    CHECK(ds::hf_config_mismatches(text, config, 16).empty());
    auto json = nlohmann::json::parse(text);
    json["hidden_act"] = "silu";
    json["type_vocab_size"] = 2;
    json["position_embedding_type"] = "relative_key";
    json["is_decoder"] = true;
    const auto lines = ds::hf_config_mismatches(json.dump(), config, 16);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] == "type_vocab_size: 2, model.type_vocab = 3");
    CHECK(lines[1] == "hidden_act: \"silu\"; only gelu, gelu_new and relu are supported");
    CHECK(lines[2] == "position_embedding_type: \"relative_key\"; only absolute is supported");
    CHECK(lines[3] == "is_decoder: true; only encoders are supported");
    const auto few = ds::hf_config_mismatches(text, config, 17);
    REQUIRE(few.size() == 1);
    CHECK(few[0].find("; data.seq_len = 17 needs ") != std::string::npos);
  }
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
            "rope_theta: 10000.0 (not given), model.rope_theta = 500000.0"},
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

TEST_CASE("rope_theta, rope_scaling and rope_parameters count as in transformers, or are refused") {
  ds::ModelConfig llama = config_of("llama", false);
  llama.rope_theta = 500000;
  const auto lines_of = [&](const std::string& keys) {
    nlohmann::json json =
        nlohmann::json::parse(ds::hf_config_json(llama, 256, 16, ds::DType::bf16));
    json.erase("rope_theta");
    json.merge_patch(nlohmann::json::parse(keys));
    return fmt::format("{}", fmt::join(ds::hf_config_mismatches(json.dump(), llama, 16), "|"));
  };
  // rope_theta stands beside the object, or in either one.
  CHECK(lines_of(R"({"rope_theta": 5e5, "rope_parameters": {"rope_type": "default"}})").empty());
  CHECK(lines_of(R"({"rope_scaling": {"rope_type": "default", "rope_theta": 5e5}})").empty());
  CHECK(lines_of(R"({"rope_theta": 1e4, "rope_scaling": {"rope_theta": 5e5}})") ==
        "rope_theta: 10000.0; rope_scaling has another value");
  // Transformers 4 reads rope_scaling only, 5 prefers it.
  CHECK(lines_of(R"({"rope_parameters": {"rope_theta": 5e5},
                     "rope_scaling": {"type": "linear", "factor": 2.0}})") ==
        R"(rope_scaling: {"factor":2.0,"type":"linear"}; rope_parameters has other values)");
  CHECK(lines_of(R"({"rope_theta": 5e5, "partial_rotary_factor": 0.5})") ==
        "partial_rotary_factor: 0.5; only 1 is supported");
  llama.rope_scaling = ds::RopeScaling::llama3;
  CHECK(lines_of(R"({"rope_theta": 5e5, "rope_scaling":
                     {"factor": null, "low_freq_factor": null, "high_freq_factor": null,
                      "original_max_position_embeddings": null}})") ==
        "rope_scaling.factor: not given; it has no default"
        "|rope_scaling.low_freq_factor: not given; it has no default"
        "|rope_scaling.high_freq_factor: not given; it has no default"
        "|rope_scaling.original_max_position_embeddings: not given; it has no default");
}

TEST_CASE("Llama's family: written configs match, and scaled angles and windows are read") {
  ds::ModelConfig model = config_of("llama", false);
  model.head_size = 20;
  for (const char* arch : {"llama", "mistral", "qwen2", "qwen3"}) {
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
}

TEST_CASE("windows: written as transformers reads them, and read with the layers that have them") {
  ds::ModelConfig model = config_of("qwen2", false);
  model.window = 12;
  model.full_layers = 1;
  for (const char* arch : {"qwen2", "qwen3"}) {
    model.arch = arch;
    const std::string text = ds::hf_config_json(model, 256, 16, ds::DType::f32);
    CHECK(ds::hf_config_mismatches(text, model, 16).empty());
  }
  nlohmann::json json = nlohmann::json::parse(ds::hf_config_json(model, 256, 16, ds::DType::f32));
  const auto lines = [&] {
    return fmt::format("{}", fmt::join(ds::hf_config_mismatches(json.dump(), model, 16), "|"));
  };
  // What newer files repeat by layer decides, as in transformers.
  json["max_window_layers"] = 28;
  json["layer_types"] = {"full_attention", "sliding_attention", "sliding_attention"};
  CHECK(lines().empty());
  json["layer_types"] = {"full_attention", "full_attention", "sliding_attention"};
  CHECK(lines() == "max_window_layers: 28, model.full_layers = 1");
  for (const char* order : {R"(["sliding_attention", "full_attention", "sliding_attention"])",
                            R"(["full_attention", "sliding_attention"])", R"("full_attention")",
                            R"(["full_attention", "sliding_attention", 7])"}) {
    CAPTURE(order);
    json["layer_types"] = nlohmann::json::parse(order);
    CHECK(lines().find("one for each layer, is built") != std::string::npos);
  }
  json.erase("layer_types");
  json["use_sliding_window"] = false;
  CHECK(lines() == "use_sliding_window: false, model.window = 12");
  model.window = model.full_layers = 0;
  CHECK(lines().empty());

  model.arch = "mistral";
  json = nlohmann::json::parse(ds::hf_config_json(model, 256, 16, ds::DType::f32));
  CHECK(json.at("sliding_window").is_null());
  CHECK(lines().empty());
  json.erase("sliding_window");
  CHECK(lines() == "sliding_window: 4096 (not given), model.window = 0");
  model.window = 4096;
  CHECK(lines().empty());
}

TEST_CASE("other families are refused by name, and too few learned positions") {
  CHECK(ds::read_hf_config(R"({"model_type": "gemma"})", "", 0).refused.front() ==
        "model_type: \"gemma\"; only gpt2, llama, mistral, qwen2, qwen3, bert, roberta and t5 "
        "are supported");
  CHECK(ds::read_hf_config(R"({"model_type": "gpt2", "n_positions": 8})", "", 16).refused ==
        std::vector<std::string>{"n_positions: 8; data.seq_len = 16 needs as many"});
}
