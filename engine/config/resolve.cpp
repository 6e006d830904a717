// Fills defaults that depend on other keys and checks keys against each other, by section.
#include "engine/config/resolve.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/base/token_numbers.h"
#include "engine/config/bert_family.h"
#include "engine/config/keys.h"
#include "engine/config/llama_family.h"
#include "engine/config/planted_fault.h"
#include "engine/config/presets.h"
#include "engine/config/resolve_sections.h"

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

void resolve_model(ModelConfig& model, const GivenKeys& given) {
  apply_preset(model, given);
  if (model.layers == 0 || model.hidden == 0 || model.heads == 0) {
    const char* missing = model.layers == 0 ? "layers" : model.hidden == 0 ? "hidden" : "heads";
    throw given.error(
        {}, fmt::format("missing key model.{}", missing),
        "give model.preset = \"gpt-10m\", or model.layers, model.hidden and model.heads");
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

/// Chooses which rows of the embedding are tokens, and rounds the number of rows up.
void resolve_vocab(ModelConfig& model, std::string_view tokenizer, const GivenKeys& given) {
  const std::int64_t needed = tokenizer == "bytes" ? kByteVocab : 0;
  if (model.vocab == 0) model.vocab = needed;
  if (model.vocab == 0) {
    throw given.error({}, "missing key model.vocab",
                      "data.tokenizer = \"none\" does not say how many tokens there are");
  }
  if (model.vocab < needed) {
    throw given.error({"model.vocab"},
                      fmt::format("model.vocab = {} is less than the {} tokens of the tokenizer",
                                  model.vocab, kByteVocab),
                      "leave model.vocab out");
  }
  if (model.tokens == 0) model.tokens = needed != 0 ? needed : model.vocab;
  model.vocab = (model.vocab + kVocabMultiple - 1) / kVocabMultiple * kVocabMultiple;
  if (model.tokens > model.vocab || (needed != 0 && model.tokens != needed)) {
    throw given.error(
        {"model.tokens"},
        needed != 0 ? fmt::format("model.tokens = {}, but data.tokenizer = \"{}\" has {} tokens",
                                  model.tokens, tokenizer, needed)
                    : fmt::format("model.tokens = {} is more than model.vocab = {}", model.tokens,
                                  model.vocab),
        "leave model.tokens out");
  }
}

void resolve_lora(TrainConfig& config, const GivenKeys& given) {
  LoraConfig& lora = config.lora;
  if (lora.rank == 0) {
    if (lora == LoraConfig{}) return;
    throw given.error({"lora.alpha", "lora.targets", "lora.dropout", "lora.train", "lora.rslora"},
                      "the keys of [lora] need lora.rank", "write rank = 8 under [lora]");
  }
  if (lora.alpha == 0) lora.alpha = static_cast<double>(lora.rank);
  if (lora.targets.empty())
    throw given.error({"lora.targets"}, "lora.targets names no layer",
                      "leave it out: all linear layers get adapters");
  if (!config.train.freeze.empty())
    throw given.error({"train.freeze"},
                      "train.freeze does not apply with lora.rank: all tensors of "
                      "the model are frozen",
                      "leave it out; lora.train lists tensors that train beside the adapters");
}

void resolve_data(DataConfig& data, const GivenKeys& given) {
  if (data.train.empty()) {
    throw given.error({}, "missing key data.train",
                      "write train = [\"my_text/*.txt\"] under [data]");
  }
  if (data.seq_len == 0) {
    throw given.error({}, "missing key data.seq_len", "write seq_len = 256 under [data]");
  }
  if (data.format == "samples" && !given.places.contains("data.tokenizer")) data.tokenizer = "none";
  if (data.format == "text" && data.tokenizer == "none") {
    throw given.error({"data.tokenizer"}, "data.tokenizer = \"none\" does not apply to text",
                      "leave it out, or set data.format = \"samples\" for token numbers");
  }
}

void resolve_sample(const TrainConfig& config, const GivenKeys& given) {
  const SampleConfig& sample = config.sample;
  if (sample.top_k > config.model.vocab) {
    throw given.error({"sample.top_k"},
                      fmt::format("sample.top_k = {} is more than model.vocab = {}", sample.top_k,
                                  config.model.vocab),
                      "top_k = 0 samples among all tokens");
  }
  if (sample.tokens == 0 || config.data.tokenizer != "none") return;
  const std::optional<std::vector<std::int32_t>> prompt = token_numbers(sample.prompt);
  const auto fits = [&](std::int32_t token) { return token >= 0 && token < config.model.tokens; };
  if (prompt && !prompt->empty() && std::ranges::all_of(*prompt, fits)) return;
  throw given.error(
      {"sample.prompt", "sample.tokens"},
      fmt::format("data.tokenizer = \"none\" needs a sample.prompt of token numbers, 0 to {}",
                  config.model.tokens - 1),
      "write them with blanks between, such as \"464 995\", or set sample.tokens = 0");
}

/// Refuses what only a model of the next token can do.
void require_encoder_data(TrainConfig& config, const GivenKeys& given) {
  if (config.model.arch == "t5") return require_t5_data(config, given);
  refuse_t5_keys(config, given);
  if (bert_family(config.model.arch) == nullptr) return;
  const auto refuse = [&](std::initializer_list<std::string_view> keys, std::string_view what,
                          std::string hint) {
    return given.error(keys, fmt::format("arch = \"{}\" {}", config.model.arch, what),
                       std::move(hint));
  };
  if (config.data.format == "text") {
    throw refuse({"data.format", "data.train"},
                 "predicts masked tokens, and data.format = \"text\" has none",
                 "use data.format = \"samples\" with the fields tokens and targets");
  }
  if (config.sample.tokens > 0) {
    throw refuse({"sample.tokens"}, "does not continue a text: every token sees those after it",
                 "set sample.tokens = 0");
  }
}

Error batch_mismatch(const BatchConfig& batch, std::int64_t virtual_ranks, const GivenKeys& given) {
  return given.error(
      {"batch.global", "batch.micro", "batch.accum"},
      fmt::format(
          "batch.micro = {} * batch.accum = {} * {} virtual ranks = {}, but batch.global = {}",
          batch.micro, batch.accum, virtual_ranks, batch.micro * batch.accum * virtual_ranks,
          batch.global),
      "leave one of the three out: any two give the third");
}

Error batch_not_divisible(const BatchConfig& batch, std::string_view name, std::int64_t value,
                          std::int64_t virtual_ranks, const GivenKeys& given) {
  return given.error(
      {"batch.global"},
      fmt::format("batch.global = {} is not a multiple of {} = {} * {} virtual ranks = {}",
                  batch.global, name, value, virtual_ranks, value * virtual_ranks),
      fmt::format("use batch.global = {}, or set determinism.virtual_ranks",
                  std::max<std::int64_t>(1, batch.global / (value * virtual_ranks)) * value *
                      virtual_ranks));
}

void resolve_batch(BatchConfig& batch, std::int64_t virtual_ranks, const GivenKeys& given) {
  const int known = (batch.micro != 0) + (batch.accum != 0) + (batch.global != 0);
  if (known == 0 || (known == 1 && batch.accum != 0)) {
    throw given.error(
        {"batch.accum"}, "the batch size is undefined: batch.micro and batch.global are missing",
        "write micro = 8 and accum = 1 under [batch]; any two of micro, accum and global will do");
  }
  if (known == 1) batch.accum = 1;
  if (batch.global == 0) {
    batch.global = batch.micro * batch.accum * virtual_ranks;
  } else if (batch.micro == 0) {
    batch.micro = batch.global / (batch.accum * virtual_ranks);
    if (batch.micro == 0 || batch.global % (batch.accum * virtual_ranks) != 0) {
      throw batch_not_divisible(batch, "batch.accum", batch.accum, virtual_ranks, given);
    }
  } else if (batch.accum == 0) {
    batch.accum = batch.global / (batch.micro * virtual_ranks);
    if (batch.accum == 0 || batch.global % (batch.micro * virtual_ranks) != 0) {
      throw batch_not_divisible(batch, "batch.micro", batch.micro, virtual_ranks, given);
    }
  }
  if (batch.micro * batch.accum * virtual_ranks != batch.global) {
    throw batch_mismatch(batch, virtual_ranks, given);
  }
}

void resolve_order(TrainConfig& config) {
  if (config.determinism.order == ReduceOrder::automatic) {
    config.determinism.order = config.zero.stage <= 1 ? ReduceOrder::boundary : ReduceOrder::step;
  }
}

void resolve_virtual_ranks(DeterminismConfig& determinism, const GivenKeys& given,
                           std::int64_t world_size) {
  if (determinism.virtual_ranks == 0) determinism.virtual_ranks = world_size;
  if (determinism.virtual_ranks < world_size) {
    throw given.error(
        {"determinism.virtual_ranks"},
        fmt::format("determinism.virtual_ranks = {} is less than the {} ranks of the job",
                    determinism.virtual_ranks, world_size),
        "every rank needs at least one virtual rank; start fewer ranks or raise this number");
  }
}

void resolve_checkpoint(const CheckpointConfig& checkpoint, const GivenKeys& given) {
  const auto refuse = [&](std::string_view key, std::string_view why, std::string hint) {
    return given.error({key}, fmt::format("{} {}", key, why), std::move(hint));
  };
  for (const auto& [key, is_set] : {std::pair{"checkpoint.every", checkpoint.every > 0},
                                    std::pair{"checkpoint.minutes", checkpoint.minutes > 0}}) {
    if (is_set && !checkpoint.saves())
      throw refuse(key, "is set, but there is no folder to save to",
                   "write dir = \"checkpoints\" under [checkpoint]");
  }
  const bool names_path = checkpoint.resume != "auto" && checkpoint.resume != "never";
  if (checkpoint.load == LoadWhat::weights && !names_path) {
    throw refuse("checkpoint.load", "= \"weights\" needs the path of a checkpoint",
                 "set checkpoint.resume=PATH");
  }
}

}  // namespace

Error GivenKeys::error(std::initializer_list<std::string_view> keys, std::string_view what,
                       std::string hint) const {
  for (const std::string_view key : keys) {
    const auto found = places.find(key);
    if (found != places.end()) {
      return entry_error(found->second, Point::value, what, std::move(hint));
    }
  }
  return {ErrorKind::config, fmt::format("{}: {}", source, what), std::move(hint)};
}

void resolve(TrainConfig& config, const GivenKeys& given, std::int64_t world_size) {
  DS_ASSERT(world_size >= 1);
  resolve_order(config);
  resolve_model(config.model, given);
  resolve_lora(config, given);
  resolve_data(config.data, given);
  require_encoder_data(config, given);
  resolve_vocab(config.model, config.data.tokenizer, given);
  resolve_virtual_ranks(config.determinism, given, world_size);
  resolve_batch(config.batch, config.determinism.virtual_ranks, given);
  resolve_optim(config, given);
  resolve_memory(config, given);
  resolve_checkpoint(config.checkpoint, given);
  if (!parse_planted_fault(config.debug.non_finite)) {
    throw given.error({"debug.non_finite"},
                      fmt::format("debug.non_finite = \"{}\" is neither STEPS nor STEPS:OP",
                                  config.debug.non_finite),
                      "write for example \"3,7\" or \"5:block1.mlp.fc\"");
  }
  resolve_sample(config, given);
}

}  // namespace ds
