// Fills defaults and finds contradictions in [optimizer], [schedule] and [precision].
#include <algorithm>
#include <cmath>

#include "engine/config/keys.h"
#include "engine/config/resolve_sections.h"

namespace ds {
namespace {

constexpr std::int64_t kDeepSpeedWarmup = 1000;

struct KeyOfTypes {
  std::string_view key, types;
};
/// Keys that only some schedule types use, with these types.
constexpr KeyOfTypes kKeysOfTypes[] = {
    {"schedule.origin", "warmup|warmup_decay|warmup_cosine|onecycle|range_test"},
    {"schedule.warmup_type", "warmup|warmup_decay|warmup_cosine"},
    {"schedule.warmup_min_ratio", "warmup_cosine"},
    {"schedule.cos_min_ratio", "warmup_cosine"},
    {"schedule.decay", "wsd"},
    {"schedule.tail", "wsd"},
    {"schedule.first_steps", "onecycle"},
    {"schedule.second_steps", "onecycle"},
    {"schedule.first_stairs", "onecycle"},
    {"schedule.second_stairs", "onecycle"},
    {"schedule.decay_steps", "onecycle"},
    {"schedule.decay_lr_rate", "onecycle"},
    {"schedule.cycle_momentum", "onecycle"},
    {"schedule.min_momentum", "onecycle"},
    {"schedule.max_momentum", "onecycle"},
    {"schedule.decay_momentum_rate", "onecycle"},
    {"schedule.range_steps", "range_test"},
    {"schedule.range_rate", "range_test"},
    {"schedule.range_staircase", "range_test"},
};

std::string word_of(const TrainConfig& config, std::string_view name) {
  return std::get<std::string>(find_key(name)->get(config).held);
}

void refuse_keys_of_other_types(const TrainConfig& config, const GivenKeys& given) {
  const std::string type = word_of(config, "schedule.type");
  for (const KeyOfTypes& line : kKeysOfTypes) {
    const Key& key = *find_key(line.key);
    const std::vector<std::string_view> types = split_words(line.types);
    if (std::ranges::find(types, type) != types.end()) continue;
    if (key.get(config) == key.get(TrainConfig{})) continue;
    std::string owners;
    for (const std::string_view owner : types) {
      owners += fmt::format("{}\"{}\"", owners.empty() ? "" : ", ", owner);
    }
    throw given.error({line.key, "schedule.type"},
                      fmt::format("{} = {} has no effect with schedule.type = \"{}\"", line.key,
                                  to_toml(key.get(config)), type),
                      fmt::format("it applies to {}; leave it out", owners));
  }
}

bool is_deepspeed_warmup(ScheduleType type) {
  return type == ScheduleType::warmup || type == ScheduleType::warmup_decay ||
         type == ScheduleType::warmup_cosine;
}

void fill_schedule(TrainConfig& config, const GivenKeys& given) {
  ScheduleConfig& schedule = config.schedule;
  if (schedule.total == 0) schedule.total = config.train.steps;
  if (is_deepspeed_warmup(schedule.type) && !given.places.contains("schedule.warmup")) {
    schedule.warmup = kDeepSpeedWarmup;
  }
  if (schedule.type == ScheduleType::wsd && schedule.decay == 0) {
    schedule.decay = std::max<std::int64_t>(schedule.total / 10, 1);
    schedule.decay = std::clamp<std::int64_t>(schedule.total - schedule.warmup, 0, schedule.decay);
  }
  if (schedule.type != ScheduleType::onecycle) return;
  if (schedule.second_steps == 0) schedule.second_steps = schedule.first_steps;
  if (schedule.second_stairs < 0) schedule.second_stairs = schedule.first_stairs;
}

void resolve_schedule(TrainConfig& config, const GivenKeys& given) {
  if (config.train.steps == 0 && config.train.epochs == 0) {
    throw given.error({}, "missing key train.steps",
                      "write steps = 1000, or epochs = 1, under [train]");
  }
  refuse_keys_of_other_types(config, given);
  if (config.train.steps == 0) return;  // resolved again when the data, and so the steps, are known
  fill_schedule(config, given);
  const ScheduleConfig& schedule = config.schedule;
  const bool has_total = schedule.type != ScheduleType::warmup &&
                         schedule.type != ScheduleType::onecycle &&
                         schedule.type != ScheduleType::range_test;
  if (has_total && schedule.warmup > schedule.total) {
    throw given.error({"schedule.warmup", "schedule.total", "schedule.type"},
                      fmt::format("schedule.warmup = {} is longer than schedule.total = {}",
                                  schedule.warmup, schedule.total),
                      "the total includes the warm-up, and is train.steps unless it is given: "
                      "lower schedule.warmup, or raise the number of steps");
  }
  if (schedule.type == ScheduleType::wsd && schedule.decay > schedule.total - schedule.warmup) {
    throw given.error({"schedule.decay", "schedule.warmup", "schedule.total"},
                      fmt::format("schedule.warmup = {} and schedule.decay = {} are together "
                                  "longer than schedule.total = {}",
                                  schedule.warmup, schedule.decay, schedule.total),
                      "the total is the sum of warm-up, stable part and decay");
  }
  if (schedule.min_lr > config.optimizer.lr) {
    throw given.error({"schedule.min_lr", "optimizer.lr"},
                      fmt::format("schedule.min_lr = {} is above optimizer.lr = {}",
                                  schedule.min_lr, config.optimizer.lr),
                      "optimizer.lr is the peak");
  }
  if (schedule.min_momentum > schedule.max_momentum) {
    throw given.error({"schedule.min_momentum", "schedule.max_momentum"},
                      fmt::format("schedule.min_momentum = {} is above schedule.max_momentum = {}",
                                  schedule.min_momentum, schedule.max_momentum),
                      "the momentum falls from max_momentum to min_momentum while the rate rises");
  }
}

void resolve_precision(PrecisionConfig& precision, const GivenKeys& given) {
  const LossScaleConfig& scale = precision.loss_scale;
  if (precision.master == MasterWeights::split16 && precision.dtype != Precision::bf16) {
    throw given.error({"precision.master"}, "precision.master = \"split16\" needs dtype = \"bf16\"",
                      "only a bf16 weight is the upper half of its fp32 master");
  }
  if (precision.dtype != Precision::fp16 && scale != LossScaleConfig{}) {
    throw given.error(
        {"precision.loss_scale.static", "precision.loss_scale.init_power",
         "precision.loss_scale.window", "precision.loss_scale.hysteresis",
         "precision.loss_scale.consecutive", "precision.loss_scale.min",
         "precision.loss_scale.at_min"},
        "[precision.loss_scale] applies only to dtype = \"fp16\"",
        "bf16 has the exponent range of fp32 and needs no loss scale; leave the section out");
  }
  if (scale.min > std::ldexp(1.0, static_cast<int>(scale.init_power))) {
    throw given.error({"precision.loss_scale.min", "precision.loss_scale.init_power"},
                      fmt::format("precision.loss_scale.min = {} is above the initial scale, 2^{}",
                                  scale.min, scale.init_power),
                      "the scale is halved from its initial value down to min");
  }
  if (precision.on_nonfinite == OnNonfinite::automatic) {
    precision.on_nonfinite =
        precision.dtype == Precision::fp16 ? OnNonfinite::skip : OnNonfinite::abort;
  }
}

}  // namespace

void resolve_optim(TrainConfig& config, const GivenKeys& given) {
  if (config.optimizer.nesterov && config.optimizer.type != OptimizerType::sgd) {
    throw given.error({"optimizer.nesterov"}, "optimizer.nesterov needs optimizer.type = \"sgd\"",
                      "the other optimizers have no Nesterov form; leave it out");
  }
  resolve_schedule(config, given);
  resolve_precision(config.precision, given);
}

}  // namespace ds
