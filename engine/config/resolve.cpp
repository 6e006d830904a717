// Fills defaults that depend on other keys and checks keys against each other, by section.
#include "engine/config/resolve.h"

#include <algorithm>
#include <vector>

#include "engine/config/bert_family.h"
#include "engine/config/keys.h"
#include "engine/config/planted_fault.h"
#include "engine/config/resolve_sections.h"
#include "engine/config/sample_prompt.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {
namespace {

constexpr std::string_view kVirtualRanks = "determinism.virtual_ranks";

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

void resolve_sample(const TrainConfig& config, const GivenKeys& given) {
  const SampleConfig& sample = config.sample;
  if (sample.top_k > config.model.vocab) {
    throw given.error({"sample.top_k"},
                      fmt::format("sample.top_k = {} is more than model.vocab = {}", sample.top_k,
                                  config.model.vocab),
                      "top_k = 0 samples among all tokens");
  }
  if (sample.tokens == 0) return;
  const DataConfig& data = config.data;
  const bool has_files = data.tokenizer != "none" && data.tokenizer != "bytes";
  const auto tokenizer = has_files ? Tokenizer::shared(data.tokenizer) : nullptr;
  const std::vector<std::int32_t> prompt = sample_prompt(config, tokenizer.get());
  const auto fits = [&](std::int32_t token) { return token >= 0 && token < config.model.tokens; };
  if (data.tokenizer == "none" && (prompt.empty() || !std::ranges::all_of(prompt, fits)))
    throw given.error(
        {"sample.prompt", "sample.tokens"},
        fmt::format("data.tokenizer = \"none\" needs a sample.prompt of token numbers, 0 to {}",
                    config.model.tokens - 1),
        "write them with blanks between, such as \"464 995\", or set sample.tokens = 0");
  if (prompt.empty())
    throw given.error({"sample.prompt", "sample.tokens"},
                      fmt::format("{} makes no tokens of {}", data.tokenizer,
                                  sample.prompt.empty()
                                      ? "a newline, for which an empty sample.prompt stands"
                                      : "sample.prompt"),
                      "write another sample.prompt, or set sample.tokens = 0");
  if (data.encoder_len > 0 && std::ssize(prompt) > data.encoder_len)
    throw given.error({"sample.prompt", "data.encoder_len"},
                      fmt::format("sample.prompt has {} tokens, the encoder reads {}",
                                  prompt.size(), data.encoder_len),
                      "shorten it");
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

/// Checks a size that follows from batch.global by the limit of its own key.
void require_limit(std::string_view key, std::int64_t value, const BatchConfig& batch,
                   const GivenKeys& given) {
  const auto most = static_cast<std::int64_t>(find_key(key)->max);
  if (value > most)
    throw given.error({"batch.global"},
                      fmt::format("batch.global = {} makes {} {}, but at most {} are possible",
                                  batch.global, key, value, most),
                      "lower it, or give batch.micro and batch.accum, too");
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
  require_limit("batch.micro", batch.micro, batch, given);
  require_limit("batch.accum", batch.accum, batch, given);
}

void resolve_order(TrainConfig& config) {
  if (config.determinism.order == ReduceOrder::automatic) {
    config.determinism.order = config.zero.stage <= 1 ? ReduceOrder::boundary : ReduceOrder::step;
  }
}

/// Returns the virtual ranks of an elastic job of up to `most` ranks: with batch.global and
/// batch.micro, the micro-batches of a step, so that as many numbers of ranks as possible have
/// equal work; else the least number that all ranks need and that divides the batch.
std::int64_t elastic_virtual_ranks(const BatchConfig& batch, std::int64_t most) {
  const std::int64_t accum = std::max<std::int64_t>(1, batch.accum);
  if (batch.global == 0) return most;
  if (batch.micro != 0) return std::max<std::int64_t>(1, batch.global / (batch.micro * accum));
  const double limit = find_key(kVirtualRanks)->max;
  std::int64_t ranks = most;
  while (static_cast<double>(ranks) <= limit && ranks * accum < batch.global &&
         batch.global % (ranks * accum) != 0)
    ++ranks;
  return std::min(ranks, std::max<std::int64_t>(1, batch.global / accum));
}

void resolve_virtual_ranks(TrainConfig& config, const GivenKeys& given, const JobRanks& ranks) {
  std::int64_t& virtual_ranks = config.determinism.virtual_ranks;
  const bool is_given = virtual_ranks != 0;
  if (!is_given && ranks.most == 0) virtual_ranks = ranks.now;
  if (!is_given && ranks.most > 0) {
    virtual_ranks = elastic_virtual_ranks(config.batch, ranks.most);
    require_limit(kVirtualRanks, virtual_ranks, config.batch, given);
  }
  if (virtual_ranks >= std::max(ranks.now, ranks.most)) return;
  if (ranks.most == 0) {
    throw given.error(
        {"determinism.virtual_ranks"},
        fmt::format("determinism.virtual_ranks = {} is less than the {} ranks of the job",
                    virtual_ranks, ranks.now),
        "every rank needs at least one virtual rank; start fewer ranks or raise this number");
  }
  throw given.error(
      {"determinism.virtual_ranks", "batch.global", "batch.micro"},
      fmt::format("the job may grow to {} ranks, but there are {} virtual ranks{}",
                  std::max(ranks.now, ranks.most), virtual_ranks,
                  is_given ? "" : ", one for each micro-batch of batch.global"),
      "every rank needs at least one virtual rank: lower MAX of --nodes MIN:MAX, or raise "
      "determinism.virtual_ranks or batch.global");
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

void check_planted(const DebugConfig& debug, const GivenKeys& given) {
  if (!parse_planted_fault(debug.non_finite)) {
    throw given.error(
        {"debug.non_finite"},
        fmt::format("debug.non_finite = \"{}\" is neither STEPS nor STEPS:OP", debug.non_finite),
        "write for example \"3,7\" or \"5:block1.mlp.fc\"");
  }
  if (!parse_planted_delay(debug.slow_data)) {
    throw given.error(
        {"debug.slow_data"},
        fmt::format("debug.slow_data = \"{}\" is not RANK:MILLISECONDS", debug.slow_data),
        "write for example \"1:20\"");
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

void resolve(TrainConfig& config, const GivenKeys& given, const JobRanks& ranks) {
  DS_ASSERT(ranks.now >= 1);
  resolve_order(config);
  resolve_model(config.model, given);
  resolve_lora(config, given);
  resolve_data(config, given);
  require_encoder_data(config, given);
  resolve_vocab(config.model, config.data.tokenizer, given);
  resolve_virtual_ranks(config, given, ranks);
  resolve_batch(config.batch, config.determinism.virtual_ranks, given);
  resolve_optim(config, given);
  resolve_memory(config, given);
  resolve_checkpoint(config.checkpoint, given);
  check_planted(config.debug, given);
  resolve_sample(config, given);
}

}  // namespace ds
