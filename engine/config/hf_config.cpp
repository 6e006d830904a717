// Reads config.json: the keys of transformers' configurations that decide what a model computes;
// those of GPT-2 and Llama's family here, others in files of their own.
#include "engine/config/hf_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/config/bert_family.h"
#include "engine/config/hf_config_reader.h"
#include "engine/config/keys.h"
#include "engine/config/llama_family.h"

namespace ds {
namespace {

using Json = HfJson;
using Reader = HfConfigReader;

void read_gpt2(Reader& r, std::int64_t positions) {
  r.integer("n_layer", "model.layers", 12);
  const std::int64_t hidden = r.integer("n_embd", "model.hidden", 768);
  r.integer("n_head", "model.heads", 12);
  r.integer("n_inner", "model.ffn", 4 * hidden);
  r.number("layer_norm_epsilon", "model.norm_eps", 1e-5);
  r.out().vocab = r.integer("vocab_size", "", 50257);
  if (r.integer("n_positions", "", 1024) < positions)
    r.refuse("n_positions", std::to_string(r.integer("n_positions", "", 1024)),
             fmt::format("data.seq_len = {} needs as many", positions));
  r.one_of("activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
  r.require("scale_attn_weights", true, "only true is supported");
  r.require("scale_attn_by_inverse_layer_idx", false, "only false is supported");
  r.require("tie_word_embeddings", true, "the head is the embedding");
}

/// Reads the kind of scaling and its numbers, which have no defaults.
void read_scaling(Reader& r) {
  constexpr const char* kKey = "model.rope_scaling";
  const char* const name = r.find("rope_type") == nullptr && r.find("type") ? "type" : "rope_type";
  const Json* const found = r.find(name);
  const Json type = found == nullptr ? Json("default") : *found;
  if (type == "default") return r.add(name, kKey, {std::string("none")}, type);
  if (type != "linear" && type != "llama3")
    return r.refuse(name, shown(type), "only default, linear and llama3 are supported");
  r.add(name, kKey, {type.get<std::string>()}, type);
  const auto has = [&r](const char* number) {
    if (r.find(number) != nullptr) return true;
    r.refuse(number, "not given", "it has no default");
    return false;
  };
  if (has("factor")) r.number("factor", "model.rope_factor", 1);
  if (type == "linear") return;
  if (has("low_freq_factor")) r.number("low_freq_factor", "model.rope_low", 1);
  if (has("high_freq_factor")) r.number("high_freq_factor", "model.rope_high", 4);
  if (has("original_max_position_embeddings"))
    r.integer("original_max_position_embeddings", "model.rope_trained", 8192);
}

/// Transformers 5 writes the angles of rotary positions into rope_parameters, transformers 4 into
/// rope_theta and rope_scaling.
void read_rope(Reader& r) {
  const Json* const parameters = r.find("rope_parameters");
  const Json* const scaling = r.find("rope_scaling");
  if (parameters != nullptr && scaling != nullptr && *parameters != *scaling)
    return r.refuse("rope_scaling", shown(*scaling), "rope_parameters has other values");
  const char* const name = parameters != nullptr ? "rope_parameters" : "rope_scaling";
  const Json* const found = r.find(name);
  if (found != nullptr && !found->is_object())
    return r.refuse(name, shown(*found), "not an object");
  if (found != nullptr)
    for (const auto& [key, value] : found->items())
      if (value.is_object() || (key == "partial_rotary_factor" && value != 1.0))
        r.refuse(name, shown(*found), fmt::format("{} is not supported", shown(key)));
  if (const Json* const part = r.find("partial_rotary_factor"); part != nullptr && *part != 1.0)
    r.refuse("partial_rotary_factor", shown(*part), "only 1 is supported");
  const Json none = Json::object();
  const std::string prefix = fmt::format("{}.", name);
  Reader inner(found != nullptr ? *found : none, r.out(), prefix);
  const bool is_inside = inner.find("rope_theta") != nullptr;
  const double theta = (is_inside ? inner : r).number("rope_theta", "model.rope_theta", 10000);
  if (is_inside && r.number("rope_theta", "", theta) != theta)
    r.refuse("rope_theta", shown(*r.find("rope_theta")), fmt::format("{} has another value", name));
  if (found == nullptr) {
    r.add(name, "model.rope_scaling", {std::string("none")}, nullptr);
  } else {
    read_scaling(inner);
  }
}

/// Returns how many layers come before the first with a window, by `layer_types`, which repeats in
/// newer files what max_window_layers says. Refuses other orders.
std::int64_t full_layers_of(Reader& r, std::int64_t layers, std::int64_t absent) {
  const Json* const types = r.find("layer_types");
  if (types == nullptr) return absent;
  const bool is_list = types->is_array() && std::ssize(*types) == layers;
  const auto first = is_list ? std::ranges::find(*types, Json("sliding_attention")) : types->end();
  const auto is_full = [](const Json& type) { return type == "full_attention"; };
  const auto slides = [](const Json& type) { return type == "sliding_attention"; };
  if (!is_list || !std::all_of(types->begin(), first, is_full) ||
      !std::all_of(first, types->end(), slides)) {
    r.refuse("layer_types", shown(*types),
             "only a list of full_attention, then sliding_attention, one for each layer, is built");
    return absent;
  }
  return first - types->begin();
}

/// Reads the window of attention, which transformers calls sliding.
void read_window(Reader& r, Windows windows, std::int64_t layers) {
  constexpr const char *kWindow = "model.window", *kName = "sliding_window";
  if (windows == Windows::none) return;
  if (windows == Windows::after_full && !r.flag("use_sliding_window", "", false))
    return r.add("use_sliding_window", kWindow, {std::int64_t{0}}, false);
  if (r.has(kName) && r.find(kName) == nullptr)
    return r.add(kName, kWindow, {std::int64_t{0}}, nullptr);
  r.integer(kName, kWindow, 4096);
  if (windows != Windows::after_full) return;
  constexpr std::int64_t kUsual = 28;
  const std::int64_t full = r.integer("max_window_layers", "", kUsual);
  r.add("max_window_layers", "model.full_layers", {full_layers_of(r, layers, full)}, kUsual);
}

/// What transformers takes where a key is missing.
struct Absent {
  std::string_view arch;
  std::int64_t ffn, kv_heads, head_size, vocab;  // kv_heads 0: heads; head_size 0: hidden / heads
};
constexpr Absent kAbsent[] = {{"llama", 11008, 0, 0, 32000},
                              {"mistral", 14336, 8, 0, 32000},
                              {"qwen2", 22016, 32, 0, 151936},
                              {"qwen3", 22016, 32, 128, 151936}};
static_assert(std::size(kAbsent) == std::size(kLlamaFamily));

void read_llama(Reader& r, const LlamaFamily& family) {
  const Absent& absent = *std::ranges::find(kAbsent, family.arch, &Absent::arch);
  const std::int64_t layers = r.integer("num_hidden_layers", "model.layers", 32);
  const std::int64_t hidden = r.integer("hidden_size", "model.hidden", 4096);
  const std::int64_t heads = r.integer("num_attention_heads", "model.heads", 32);
  const bool as_heads = absent.kv_heads == 0 || r.has("num_key_value_heads");  // null: as heads
  r.integer("num_key_value_heads", "model.kv_heads", as_heads ? heads : absent.kv_heads);
  r.integer("intermediate_size", "model.ffn", absent.ffn);
  const std::int64_t plain = heads > 0 ? hidden / heads : 0;
  r.integer("head_dim", "model.head_size", absent.head_size == 0 ? plain : absent.head_size);
  r.number("rms_norm_eps", "model.norm_eps", 1e-6);
  read_rope(r);
  r.flag("tie_word_embeddings", "model.tied", false);
  r.out().vocab = r.integer("vocab_size", "", absent.vocab);
  r.one_of("hidden_act", {"silu", "swish"});
  for (const char* name : {"attention_bias", "mlp_bias"})
    r.require(name, false, "biases are not supported");
  read_window(r, family.windows, layers);
}

}  // namespace

HfConfig read_hf_config(std::string_view text, std::string_view arch, std::int64_t positions) {
  constexpr int kDeepest = 100;  // each level takes stack
  bool is_deep = false;
  const auto see = [&is_deep](int depth, Json::parse_event_t, const Json&) {
    is_deep = is_deep || depth > kDeepest;
    return true;
  };
  const Json json = Json::parse(text, see, false);
  if (!json.is_object() || is_deep)
    throw Error(ErrorKind::config,
                is_deep ? "config.json is nested too deeply" : "config.json is not a JSON object",
                "save the model again");
  HfConfig config;
  Reader reader(json, config);
  const Json* const type = reader.find("model_type");
  config.arch = type != nullptr && type->is_string() ? type->get<std::string>() : arch;
  if (const LlamaFamily* const family = llama_family(config.arch)) {
    read_llama(reader, *family);
  } else if (config.arch == "gpt2") {
    read_gpt2(reader, positions);
  } else if (bert_family(config.arch) != nullptr) {
    read_bert_config(reader, positions);
  } else if (config.arch == "t5") {
    read_t5_config(reader);
  } else {
    config.refused = {
        fmt::format("model_type: {}; only gpt2, llama, mistral, qwen2, qwen3, bert, roberta and t5 "
                    "are supported",
                    config.arch.empty() ? "not given" : shown(config.arch))};
  }
  return config;
}

bool is_same_value(const ConfigValue& a, const ConfigValue& b) {
  const auto* x = std::get_if<double>(&a.held);
  const auto* y = std::get_if<double>(&b.held);
  if (x == nullptr || y == nullptr) return a == b;
  return std::abs(*x - *y) <= 1e-7 * std::max(std::abs(*x), std::abs(*y));
}

std::vector<std::string> hf_config_mismatches(std::string_view text, const ModelConfig& model,
                                              std::int64_t positions) {
  const HfConfig theirs = read_hf_config(text, model.arch, positions);
  if (theirs.arch != model.arch)
    return {fmt::format("model_type: {}, model.arch = \"{}\"", shown(theirs.arch), model.arch)};
  TrainConfig config;
  config.model = model;
  config.model.head_size = model.elements_of_head();
  std::vector<std::string> lines;
  for (const HfConfig::Field& field : theirs.fields) {
    const ConfigValue ours = find_key(field.key)->get(config);
    if (!is_same_value(field.value, ours))
      lines.push_back(fmt::format("{}, {} = {}", field.theirs, field.key, to_toml(ours)));
  }
  lines.insert(lines.end(), theirs.refused.begin(), theirs.refused.end());
  return lines;
}

}  // namespace ds
