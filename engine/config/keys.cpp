// The table itself. Order: as docs/config.md and the resolved config.toml show it.
#include "engine/config/keys.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // Beyond every int64.

template <class Section, class Field>
using Holder = std::remove_cvref_t<decltype(std::declval<TrainConfig&>().*std::declval<Section>().*
                                            std::declval<Field>())>;

template <auto Section, auto Field>
void set_field(TrainConfig& config, const ConfigValue& value) {
  using T = Holder<decltype(Section), decltype(Field)>;
  config.*Section.*Field = std::get<T>(value.held);
}
template <auto Section, auto Field>
ConfigValue get_field(const TrainConfig& config) {
  return {config.*Section.*Field};
}

std::int64_t word_index(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = split_words(words);
  return std::ranges::find(all, word) - all.begin();
}

template <auto Section, auto Field, const std::string_view& Words>
void set_enum(TrainConfig& config, const ConfigValue& value) {
  using T = Holder<decltype(Section), decltype(Field)>;
  config.*Section.*Field = static_cast<T>(word_index(Words, std::get<std::string>(value.held)));
}
template <auto Section, auto Field, const std::string_view& Words>
ConfigValue get_enum(const TrainConfig& config) {
  return {std::string(split_words(Words)[static_cast<std::size_t>(config.*Section.*Field)])};
}

std::vector<std::string> to_strings(const ConfigValue& value) {
  std::vector<std::string> strings;
  for (const ConfigValue& element : std::get<ConfigValue::List>(value.held)) {
    strings.push_back(std::get<std::string>(element.held));
  }
  return strings;
}
ConfigValue to_list(const std::vector<std::string>& strings) {
  ConfigValue::List list;
  for (const std::string& text : strings) list.push_back({text});
  return {std::move(list)};
}

void set_train_globs(TrainConfig& config, const ConfigValue& value) {
  config.data.train = to_strings(value);
}
ConfigValue get_train_globs(const TrainConfig& config) { return to_list(config.data.train); }

void set_validation(TrainConfig& config, const ConfigValue& value) {
  const auto* fraction = std::get_if<double>(&value.held);
  config.data.validation = fraction == nullptr ? to_strings(value) : std::vector<std::string>{};
  if (fraction != nullptr) config.data.validation_fraction = *fraction;
}
ConfigValue get_validation(const TrainConfig& config) {
  return config.data.validation.empty() ? ConfigValue{config.data.validation_fraction}
                                        : to_list(config.data.validation);
}

void set_betas(TrainConfig& config, const ConfigValue& value) {
  const auto& list = std::get<ConfigValue::List>(value.held);
  config.optimizer.betas = {std::get<double>(list[0].held), std::get<double>(list[1].held)};
}
ConfigValue get_betas(const TrainConfig& config) {
  return {ConfigValue::List{{config.optimizer.betas[0]}, {config.optimizer.betas[1]}}};
}

constexpr std::string_view kPrecisions = "fp32|bf16";
constexpr std::string_view kOrders = "auto|boundary|step";
constexpr std::string_view kSchedules = "constant|linear|cosine";

// One line of the table per macro call: the accessors need the member names twice.
#define DS_FIELD(section, Section, field)            \
  set_field<&TrainConfig::section, &Section::field>, \
      get_field<&TrainConfig::section, &Section::field>
#define DS_ENUM(section, Section, field, words)            \
  set_enum<&TrainConfig::section, &Section::field, words>, \
      get_enum<&TrainConfig::section, &Section::field, words>

using K = KeyKind;
// clang-format off
const Key kKeys[] = {
    {"model.arch", K::choice, true, 0, 0, "gpt2", "llama|bert|t5", "\"gpt2\"",
     "Architecture.", DS_FIELD(model, ModelConfig, arch)},
    {"model.preset", K::choice, false, 0, 0, "gpt2-124m|gpt2-355m|gpt2-774m|gpt2-1558m|gpt-10m|gpt-tiny", "", "none",
     "Sizes by name; keys given beside it win.", DS_FIELD(model, ModelConfig, preset)},
    {"model.layers", K::integer, true, 1, 4096, "", "", "from the preset",
     "Transformer blocks.", DS_FIELD(model, ModelConfig, layers)},
    {"model.hidden", K::integer, true, 1, 1 << 20, "", "", "from the preset",
     "Width; a multiple of heads.", DS_FIELD(model, ModelConfig, hidden)},
    {"model.heads", K::integer, true, 1, 4096, "", "", "from the preset",
     "Attention heads.", DS_FIELD(model, ModelConfig, heads)},
    {"model.ffn", K::integer, true, 1, 1 << 22, "", "", "hidden * 4",
     "Width of the feed-forward layer.", DS_FIELD(model, ModelConfig, ffn)},
    {"model.vocab", K::integer, true, 1, 1 << 24, "", "", "from the preset, else from the tokenizer",
     "Rows of the embedding; rounded up to a multiple of 64 for the kernels.", DS_FIELD(model, ModelConfig, vocab)},
    {"model.init", K::choice, true, 0, 0, "random", "*", "\"random\"",
     "Where the weights come from.", DS_FIELD(model, ModelConfig, init)},
    {"model.dropout", K::number, true, 0, 1, "", "", "0.0",
     "Only 0 is built.", DS_FIELD(model, ModelConfig, dropout)},

    {"data.train", K::globs, false, 0, 0, "", "", "required",
     "Files to train on, as patterns.", set_train_globs, get_train_globs},
    {"data.validation", K::validation, false, 0, 0.9, "", "", "0.05",
     "Patterns of held-out files, or the fraction at the end of each training file that is held out; 0 = no validation.", set_validation, get_validation},
    {"data.format", K::choice, true, 0, 0, "text", "jsonl|tokens", "\"text\"",
     "What the files hold.", DS_FIELD(data, DataConfig, format)},
    {"data.tokenizer", K::choice, true, 0, 0, "bytes", "*", "\"bytes\"",
     "How text becomes tokens; bytes: every byte is one of 256 tokens.", DS_FIELD(data, DataConfig, tokenizer)},
    {"data.seq_len", K::integer, true, 1, 1 << 20, "", "", "required",
     "Tokens of one sequence.", DS_FIELD(data, DataConfig, seq_len)},

    {"batch.micro", K::integer, true, 1, 1 << 16, "", "", "from the other two",
     "Sequences of one micro-batch of one virtual rank.", DS_FIELD(batch, BatchConfig, micro)},
    {"batch.accum", K::integer, true, 1, 1 << 16, "", "", "from the other two, else 1",
     "Micro-batches per optimizer step.", DS_FIELD(batch, BatchConfig, accum)},
    {"batch.global", K::integer, true, 1, 1LL << 40, "", "", "from the other two",
     "Sequences per optimizer step: micro * accum * virtual_ranks.", DS_FIELD(batch, BatchConfig, global)},

    {"optimizer.type", K::choice, true, 0, 0, "adamw", "*", "\"adamw\"",
     "Decoupled weight decay, on matrices only.", DS_FIELD(optimizer, OptimizerConfig, type)},
    {"optimizer.lr", K::number, true, 0, 1e3, "", "", "0.001",
     "Peak learning rate.", DS_FIELD(optimizer, OptimizerConfig, lr)},
    {"optimizer.betas", K::betas, true, 0, 0.999999, "", "", "[0.9, 0.95]",
     "Decay of the two moments.", set_betas, get_betas},
    {"optimizer.eps", K::number, true, 1e-30, 1, "", "", "1e-08",
     "Added to the root of the second moment.", DS_FIELD(optimizer, OptimizerConfig, eps)},
    {"optimizer.weight_decay", K::number, true, 0, 1e3, "", "", "0.1",
     "Times the learning rate.", DS_FIELD(optimizer, OptimizerConfig, weight_decay)},
    {"optimizer.clip", K::number, true, 0, 1e9, "", "", "1.0",
     "Largest L2 norm of the whole gradient; 0 = off.", DS_FIELD(optimizer, OptimizerConfig, clip)},

    {"schedule.type", K::choice, true, 0, 0, kSchedules, "wsd|onecycle", "\"cosine\"",
     "Course of the learning rate after the warm-up.", DS_ENUM(schedule, ScheduleConfig, type, kSchedules)},
    {"schedule.warmup", K::integer, true, 0, kAny, "", "", "0",
     "Steps of linear rise from 0.", DS_FIELD(schedule, ScheduleConfig, warmup)},
    {"schedule.total", K::integer, true, 1, kAny, "", "", "train.steps",
     "The step at which min_lr is reached.", DS_FIELD(schedule, ScheduleConfig, total)},
    {"schedule.min_lr", K::number, true, 0, 1e3, "", "", "0.0",
     "Learning rate at the end and after it.", DS_FIELD(schedule, ScheduleConfig, min_lr)},

    {"precision.dtype", K::choice, true, 0, 0, kPrecisions, "fp16", "\"fp32\"",
     "Of weights and activations; the master weights are fp32.", DS_ENUM(precision, PrecisionConfig, dtype, kPrecisions)},

    {"zero.stage", K::integer, false, 0, 3, "", "", "0",
     "What is sharded; only 0 (nothing) is built.", DS_FIELD(zero, ZeroConfig, stage)},

    {"determinism.virtual_ranks", K::integer, true, 1, 1 << 16, "", "", "the number of ranks",
     "Among how many ranks the batch is divided for the arithmetic; equal numbers give equal bits.", DS_FIELD(determinism, DeterminismConfig, virtual_ranks)},
    {"determinism.order", K::choice, true, 0, 0, kOrders, "", "\"auto\"",
     "Order of the gradient sum; auto: boundary for ZeRO stages 0 and 1, step for 2 and 3.", DS_ENUM(determinism, DeterminismConfig, order, kOrders)},

    {"train.steps", K::integer, false, 1, kAny, "", "", "required",
     "Optimizer steps.", DS_FIELD(train, RunConfig, steps)},
    {"train.seed", K::integer, true, 0, kAny, "", "", "1",
     "Of weights and of the order of the data.", DS_FIELD(train, RunConfig, seed)},
    {"train.validate_every", K::integer, false, 0, kAny, "", "", "0",
     "Steps between validations; 0 = at the end only.", DS_FIELD(train, RunConfig, validate_every)},
    {"train.validate_batches", K::integer, false, 1, 1 << 20, "", "", "16",
     "Micro-batches of every virtual rank in one validation.", DS_FIELD(train, RunConfig, validate_batches)},

    {"sample.prompt", K::text, false, 0, 0, "", "", "\"\"",
     "Text that the sample at the end continues.", DS_FIELD(sample, SampleConfig, prompt)},
    {"sample.tokens", K::integer, false, 0, 1 << 20, "", "", "0",
     "Tokens to generate at the end; 0 = no sample.", DS_FIELD(sample, SampleConfig, tokens)},
    {"sample.temperature", K::number, false, 0, 100, "", "", "0.8",
     "0 = always the likeliest token.", DS_FIELD(sample, SampleConfig, temperature)},
    {"sample.top_k", K::integer, false, 0, 1 << 24, "", "", "0",
     "Choose among the k likeliest tokens; 0 = among all.", DS_FIELD(sample, SampleConfig, top_k)},
    {"sample.seed", K::integer, false, 0, kAny, "", "", "1",
     "Of the sample.", DS_FIELD(sample, SampleConfig, seed)},

    {"log.dir", K::path, false, 0, 0, "", "", "runs/NAME-DATE-N in the working directory",
     "The folder of the run.", DS_FIELD(log, LogConfig, dir)},
    {"log.every", K::integer, false, 1, kAny, "", "", "10",
     "Steps between lines of metrics.jsonl.", DS_FIELD(log, LogConfig, every)},

    {"device.backend", K::choice, false, 0, 0, "auto|cpu", "cuda", "\"auto\"",
     "Where the arithmetic runs.", DS_FIELD(device, DeviceConfig, backend)},
    {"device.threads", K::integer, false, 0, 4096, "", "", "0",
     "Threads of one rank; 0 = its share of the node's cores.", DS_FIELD(device, DeviceConfig, threads)},
    {"device.isa", K::choice, false, 0, 0, "auto|avx512|avx2", "", "\"auto\"",
     "Instruction set of the CPU kernels; the one in use is compared among ranks.", DS_FIELD(device, DeviceConfig, isa)},
};
// clang-format on
#undef DS_FIELD
#undef DS_ENUM

constexpr std::array<std::string_view, 31> kReserved{"model.kv_heads",
                                                     "data.drop_last",
                                                     "optimizer.no_decay",
                                                     "optimizer.bias_correction",
                                                     "optimizer.onebit",
                                                     "optimizer.zeroone",
                                                     "optimizer.onebit_lamb",
                                                     "optimizer.muon",
                                                     "precision.master",
                                                     "precision.loss_scale",
                                                     "precision.grad_accum",
                                                     "precision.moments",
                                                     "precision.on_nonfinite",
                                                     "zero.gather_bucket",
                                                     "zero.reduce_bucket",
                                                     "zero.prefetch",
                                                     "zero.persist_below",
                                                     "zero.overlap",
                                                     "offload",
                                                     "recompute",
                                                     "checkpoint",
                                                     "log.tensorboard",
                                                     "log.csv",
                                                     "log.jsonl",
                                                     "train.epochs",
                                                     "comm",
                                                     "parallel",
                                                     "elastic",
                                                     "deepspeed",
                                                     "schedule.origin",
                                                     "schedule.decay"};

}  // namespace

std::span<const Key> all_keys() { return kKeys; }

const Key* find_key(std::string_view name) {
  const auto* found = std::ranges::find(kKeys, name, &Key::name);
  return found == std::end(kKeys) ? nullptr : found;
}

bool is_reserved(std::string_view name) {
  return std::ranges::any_of(kReserved, [name](std::string_view reserved) {
    return name.starts_with(reserved) &&
           (name.size() == reserved.size() || name[reserved.size()] == '.');
  });
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> split;
  while (!words.empty()) {
    const std::size_t end = words.find('|');
    split.push_back(words.substr(0, end));
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return split;
}

}  // namespace ds
