// config.json: the keys of transformers' GPT2Config and LlamaConfig that decide what a model
// computes.
#include "engine/exchange/hf_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace ds {
namespace {

using nlohmann::ordered_json;

std::string_view torch_name(DType dtype) {
  if (dtype == DType::bf16) return "bfloat16";
  return dtype == DType::f16 ? "float16" : "float32";
}

ordered_json gpt2_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", "gelu_new"},
          {"attn_pdrop", model.dropout},
          {"bos_token_id", nullptr},
          {"embd_pdrop", model.dropout},
          {"eos_token_id", nullptr},
          {"initializer_range", 0.02},
          {"layer_norm_epsilon", model.norm_eps},
          {"n_ctx", positions},
          {"n_embd", model.hidden},
          {"n_head", model.heads},
          {"n_inner", model.ffn},
          {"n_layer", model.layers},
          {"n_positions", positions},
          {"resid_pdrop", model.dropout},
          {"tie_word_embeddings", true},
          {"use_cache", true},
          {"vocab_size", vocab}};
}

ordered_json llama_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"attention_bias", false},
          {"attention_dropout", model.dropout},
          {"bos_token_id", nullptr},
          {"eos_token_id", nullptr},
          {"head_dim", model.hidden / model.heads},
          {"hidden_act", "silu"},
          {"hidden_size", model.hidden},
          {"initializer_range", 0.02},
          {"intermediate_size", model.ffn},
          {"max_position_embeddings", positions},
          {"mlp_bias", false},
          {"num_attention_heads", model.heads},
          {"num_hidden_layers", model.layers},
          {"num_key_value_heads", model.kv_heads},
          {"pretraining_tp", 1},
          {"rms_norm_eps", model.norm_eps},
          {"rope_scaling", nullptr},
          {"rope_theta", model.rope_theta},
          {"tie_word_embeddings", model.tied},
          {"use_cache", true},
          {"vocab_size", vocab}};
}

class Mismatches {
 public:
  /// `prefix`: of the names in messages.
  explicit Mismatches(const ordered_json& json, std::string_view prefix = "")
      : json_(json), prefix_(prefix) {}

  /// Returns null where the key is missing or null.
  [[nodiscard]] const ordered_json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  /// `absent`: the value of the key where it is missing or null.
  void same(const char* name, const ordered_json& wanted, const ordered_json& absent,
            std::string_view ours) {
    const ordered_json* const found = find(name);
    const ordered_json& given = found != nullptr ? *found : absent;
    if (is_same(given, wanted)) return;
    lines_.push_back(fmt::format("{}{}: {}{}, {}", prefix_, name, given.dump(),
                                 found != nullptr ? "" : " (not given)", ours));
  }
  void one_of(const char* name, const std::vector<std::string>& words, std::string_view absent) {
    const ordered_json* const found = find(name);
    const ordered_json given = found != nullptr ? *found : ordered_json(absent);
    for (const std::string& word : words)
      if (given == word) return;
    lines_.push_back(
        fmt::format("{}: {}; only {} is supported", name, given.dump(), words.front()));
  }
  void add(const std::vector<std::string>& lines) {
    lines_.insert(lines_.end(), lines.begin(), lines.end());
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  // Compares numbers by value: 1e-05 in two spellings, 10000 and 10000.0.
  static bool is_same(const ordered_json& a, const ordered_json& b) {
    if (!a.is_number() || !b.is_number()) return a == b;
    const double x = a.get<double>(), y = b.get<double>();
    return std::abs(x - y) <= 1e-7 * std::max(std::abs(x), std::abs(y));
  }

  const ordered_json& json_;
  const std::string_view prefix_;
  std::vector<std::string> lines_;
};

// Transformers knows kinds of scaling with keys of their own, and one such object per kind of
// layer.
bool is_unscaled(const ordered_json& rope) {
  if (!rope.is_object()) return false;
  for (const auto& [name, value] : rope.items())
    if (name != "rope_theta" && (name != "rope_type" || value != "default")) return false;
  return true;
}

std::string ours(std::string_view key, const auto& value) {
  return fmt::format("model.{} = {}", key, value);
}

void compare_gpt2(Mismatches& m, const ModelConfig& model) {
  m.same("n_layer", model.layers, 12, ours("layers", model.layers));
  m.same("n_embd", model.hidden, 768, ours("hidden", model.hidden));
  m.same("n_head", model.heads, 12, ours("heads", model.heads));
  m.same("n_inner", model.ffn, 4 * model.hidden, ours("ffn", model.ffn));
  m.same("layer_norm_epsilon", model.norm_eps, 1e-5, ours("norm_eps", model.norm_eps));
  m.one_of("activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}, "gelu_new");
  m.same("scale_attn_weights", true, true, "only true is supported");
  m.same("scale_attn_by_inverse_layer_idx", false, false, "only false is supported");
  m.same("tie_word_embeddings", true, true, "the head is the embedding");
}

// Transformers 5 writes the angles of rotary positions into rope_parameters, transformers 4 into
// rope_theta and rope_scaling. Where a file has both, both must be right.
void compare_rope(Mismatches& m, const ModelConfig& model) {
  const ordered_json* const rope = m.find("rope_parameters");
  const std::string theta = ours("rope_theta", model.rope_theta);
  if (rope == nullptr) {
    m.same("rope_theta", model.rope_theta, 10000.0, theta);
  } else if (is_unscaled(*rope)) {
    m.same("rope_theta", model.rope_theta, model.rope_theta, theta);
    Mismatches inner(*rope, "rope_parameters.");
    inner.same("rope_theta", model.rope_theta, 10000.0, theta);
    m.add(inner.take());
  } else {
    m.same("rope_theta", model.rope_theta, model.rope_theta, theta);
    m.add({fmt::format("rope_parameters: {}; scaled angles are not supported", rope->dump())});
  }
  m.same("rope_scaling", nullptr, nullptr, "scaled angles are not supported");
}

void compare_llama(Mismatches& m, const ModelConfig& model) {
  m.same("num_hidden_layers", model.layers, 32, ours("layers", model.layers));
  m.same("hidden_size", model.hidden, 4096, ours("hidden", model.hidden));
  m.same("num_attention_heads", model.heads, 32, ours("heads", model.heads));
  m.same("num_key_value_heads", model.kv_heads, model.heads, ours("kv_heads", model.kv_heads));
  m.same("intermediate_size", model.ffn, 11008, ours("ffn", model.ffn));
  m.same("head_dim", model.hidden / model.heads, model.hidden / model.heads,
         "the width of a head must be hidden / heads");
  m.same("rms_norm_eps", model.norm_eps, 1e-6, ours("norm_eps", model.norm_eps));
  compare_rope(m, model);
  m.same("tie_word_embeddings", model.tied, false, ours("tied", model.tied));
  m.same("attention_bias", false, false, "biases are not supported");
  m.same("mlp_bias", false, false, "biases are not supported");
  m.one_of("hidden_act", {"silu", "swish"}, "silu");
}

}  // namespace

std::string hf_config_json(const ModelConfig& model, std::int64_t vocab, std::int64_t positions,
                           DType dtype) {
  ordered_json json = model.arch == "llama" ? llama_json(model, vocab, positions)
                                            : gpt2_json(model, vocab, positions);
  json["torch_dtype"] = torch_name(dtype);
  return json.dump(2) + "\n";
}

std::vector<std::string> hf_config_mismatches(std::string_view text, const ModelConfig& model) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object())
    throw Error(ErrorKind::config, "config.json is not a JSON object", "save the model again");
  const auto type = json.find("model_type");
  if (type != json.end() && *type != model.arch)
    return {fmt::format("model_type: {}, model.arch = \"{}\"", type->dump(), model.arch)};
  Mismatches mismatches(json);
  model.arch == "llama" ? compare_llama(mismatches, model) : compare_gpt2(mismatches, model);
  return mismatches.take();
}

}  // namespace ds
