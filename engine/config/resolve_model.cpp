// resolve_model(): sizes that follow from others, and the keys that belong to one architecture.
#include "engine/config/bert_family.h"
#include "engine/config/keys.h"
#include "engine/config/llama_family.h"
#include "engine/config/presets.h"
#include "engine/config/resolve_sections.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {
namespace {

constexpr std::int64_t kVocabMultiple = 64;
constexpr std::int64_t kByteVocab = 256;

/// Returns whether a key has another value than that of a model without the key.
bool differs_from_default(const ModelConfig& model, std::string_view key) {
  TrainConfig config;
  const ConfigValue usual = find_key(key)->get(config);
  config.model = model;
  return find_key(key)->get(config) != usual;
}

/// Refuses the keys of Llama's family for models with learned positions and tied heads.
void require_learned_positions(const ModelConfig& model, const GivenKeys& given) {
  const auto refuse = [&](std::string_view key, std::string_view why) {
    return given.error({key},
                       fmt::format("{} does not apply to arch = \"{}\": {}", key, model.arch, why),
                       "leave it out, or use model.arch = \"llama\"");
  };
  if (model.kv_heads != model.heads)
    throw refuse("model.kv_heads", "every head of queries has its own head of keys");
  if (model.head_size != 0) throw refuse("model.head_size", "a head has hidden / heads elements");
  if (!model.tied)
    throw refuse("model.tied", "its output head always shares the embedding's weights");
  for (const char* key : {"model.rope_theta", "model.rope_scaling", "model.rope_factor",
                          "model.rope_low", "model.rope_high", "model.rope_trained"})
    if (differs_from_default(model, key)) throw refuse(key, "its positions are learned");
  for (const char* key : {"model.window", "model.full_layers"})
    if (differs_from_default(model, key)) throw refuse(key, "its attention sees all before");
}

void require_window(const ModelConfig& model, const GivenKeys& given) {
  const Windows windows = llama_family(model.arch)->windows;
  if (model.window != 0 && windows == Windows::none)
    throw given.error({"model.window"},
                      fmt::format("model.window does not apply to arch = \"{}\"", model.arch),
                      "leave it out, or use model.arch = \"mistral\"");
  if (model.full_layers == 0) return;
  if (windows != Windows::after_full)
    throw given.error({"model.full_layers"},
                      fmt::format("model.full_layers does not apply to arch = \"{}\"", model.arch),
                      "leave it out; all of its layers have the window, if there is one");
  if (model.window == 0)
    throw given.error({"model.full_layers"}, "model.full_layers needs model.window",
                      "leave it out: no layer has a window");
}

/// Refuses the keys of BERT and RoBERTa for other models.
void refuse_bert_keys(const ModelConfig& model, const GivenKeys& given) {
  for (const char* key : {"model.activation", "model.type_vocab", "model.first_position"}) {
    if (!differs_from_default(model, key)) continue;
    throw given.error({key}, fmt::format("{} does not apply to arch = \"{}\"", key, model.arch),
                      "leave it out; bert, roberta and t5 have such keys");
  }
}

void resolve_bert(ModelConfig& model, const BertFamily& family, const GivenKeys& given) {
  require_learned_positions(model, given);
  if (model.activation == FeedForward::gated_gelu)
    throw given.error({"model.activation"},
                      fmt::format("model.activation = \"gated_gelu\" does not apply to arch = "
                                  "\"{}\"",
                                  model.arch),
                      "use \"gelu\", \"gelu_tanh\" or \"relu\", or model.arch = \"t5\"");
  const auto is_given = [&](std::string_view key) { return given.places.contains(key); };
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  if (model.type_vocab == 0) model.type_vocab = family.type_vocab;
  if (!is_given("model.first_position")) model.first_position = family.first_position;
  if (!is_given("model.norm_eps") && model.preset.empty()) model.norm_eps = family.norm_eps;
}

void require_rope(const ModelConfig& model, const GivenKeys& given) {
  if (model.elements_of_head() % 2 != 0) {
    throw given.error(
        {"model.head_size", "model.heads", "model.hidden"},
        fmt::format("a head has {} elements, but rotary positions need an even number",
                    model.elements_of_head()),
        "choose model.head_size, or model.hidden and model.heads, so that it is even");
  }
  if (model.rope_scaling == RopeScaling::none && model.rope_factor != 1) {
    throw given.error({"model.rope_factor"}, "model.rope_factor needs model.rope_scaling",
                      "set model.rope_scaling to \"linear\" or \"llama3\"");
  }
  for (const char* key : {"model.rope_low", "model.rope_high", "model.rope_trained"}) {
    if (model.rope_scaling != RopeScaling::llama3 && differs_from_default(model, key))
      throw given.error({key}, fmt::format("{} needs model.rope_scaling = \"llama3\"", key),
                        "leave it out");
  }
  if (model.rope_high <= model.rope_low) {
    throw given.error({"model.rope_high", "model.rope_low"},
                      fmt::format("model.rope_high = {} is not above model.rope_low = {}",
                                  model.rope_high, model.rope_low),
                      "Llama 3.1 has rope_low = 1 and rope_high = 4");
  }
}

void require_llama_family(const ModelConfig& model, const GivenKeys& given) {
  if (model.heads % model.kv_heads != 0) {
    throw given.error({"model.kv_heads", "model.heads"},
                      fmt::format("model.kv_heads = {} does not divide model.heads = {}",
                                  model.kv_heads, model.heads),
                      "every head of keys must serve the same number of heads of queries");
  }
  require_rope(model, given);
  require_window(model, given);
}

void resolve_architecture(ModelConfig& model, const GivenKeys& given) {
  constexpr std::int64_t kLlamaFfnMultiple = 256;
  const BertFamily* const bert = bert_family(model.arch);
  if (bert != nullptr) return resolve_bert(model, *bert, given);
  if (model.arch == "t5") return resolve_t5(model, given);
  refuse_bert_keys(model, given);
  if (llama_family(model.arch) != nullptr) {
    require_llama_family(model, given);
    const std::int64_t two_thirds =
        8 * model.hidden / 3;  // of gpt2's width: llama has 3 products where gpt2 has 2
    if (model.ffn == 0)
      model.ffn = (two_thirds + kLlamaFfnMultiple - 1) / kLlamaFfnMultiple * kLlamaFfnMultiple;
  } else {
    require_learned_positions(model, given);
    if (model.ffn == 0) model.ffn = 4 * model.hidden;
  }
}

}  // namespace

void resolve_model(ModelConfig& model, const GivenKeys& given) {
  apply_preset(model, given);
  if (model.layers == 0 || model.hidden == 0 || model.heads == 0) {
    const char* missing = model.layers == 0 ? "layers" : model.hidden == 0 ? "hidden" : "heads";
    throw given.error(
        {}, fmt::format("missing key model.{}", missing),
        "give model.preset = \"gpt-10m\", or model.layers, model.hidden and model.heads, or "
        "model.from = a Hugging Face folder");
  }
  if (model.head_size * model.heads == model.hidden) model.head_size = 0;  // one spelling
  if (model.head_size == 0 && model.hidden % model.heads != 0) {
    throw given.error({"model.heads", "model.hidden"},
                      fmt::format("model.hidden = {} is not a multiple of model.heads = {}",
                                  model.hidden, model.heads),
                      "the width is divided evenly among the heads");
  }
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  resolve_architecture(model, given);
}

void resolve_vocab(ModelConfig& model, const std::string& tokenizer, const GivenKeys& given) {
  const bool is_bytes = tokenizer == "bytes", is_none = tokenizer == "none";
  const std::int64_t size = is_bytes || is_none ? 0 : Tokenizer::shared(tokenizer)->size();
  const std::int64_t needed = is_bytes ? kByteVocab : size;
  if (model.vocab == 0) model.vocab = needed;
  if (model.vocab == 0) {
    throw given.error({}, "missing key model.vocab",
                      "data.tokenizer = \"none\" does not say how many tokens there are");
  }
  if (model.vocab < needed) {
    throw given.error({"model.vocab"},
                      fmt::format("model.vocab = {} is less than the {} tokens of the tokenizer",
                                  model.vocab, needed),
                      "leave model.vocab out, or use the tokenizer that belongs to the model");
  }
  // A folder's vocabulary may be larger than its tokenizer: some of its rows are never read.
  if (model.tokens == 0) model.tokens = is_bytes ? needed : model.vocab;
  model.vocab = (model.vocab + kVocabMultiple - 1) / kVocabMultiple * kVocabMultiple;
  const bool are_wrong = is_bytes ? model.tokens != needed : model.tokens < needed;
  if (model.tokens > model.vocab || are_wrong) {
    throw given.error(
        {"model.tokens"},
        are_wrong ? fmt::format("model.tokens = {}, but data.tokenizer = \"{}\" has {} tokens",
                                model.tokens, tokenizer, needed)
                  : fmt::format("model.tokens = {} is more than model.vocab = {}", model.tokens,
                                model.vocab),
        "leave model.tokens out");
  }
}

}  // namespace ds
