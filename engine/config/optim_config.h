// The parts of a TrainConfig that define an update: optimizer, schedule, precision.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/optimizers/optimizers.h"

namespace ds {

struct OptimizerConfig {
  OptimizerType type = OptimizerType::adamw;
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.95};
  double eps = 1e-8;
  double momentum = 0.9;  // sgd
  bool nesterov = false;  // sgd
  double weight_decay = 0.1;
  std::vector<std::string> no_decay{"norms", "biases"};  // and patterns of tensor names
  double clip = 1.0;  // maximum of the global gradient norm; 0 = off
  friend bool operator==(const OptimizerConfig&, const OptimizerConfig&) = default;
};

enum class ScheduleType : std::uint8_t {
  constant,
  linear,
  cosine,
  wsd,
  warmup,
  warmup_decay,
  warmup_cosine,
  onecycle,
  range_test
};
/// How a schedule counts steps. clean: optimizer step t uses position t. deepspeed: t = 1 uses the
/// initial value and t >= 2 uses position t - 2, because DeepSpeed's scheduler advances after the
/// step.
enum class ScheduleOrigin : std::uint8_t { clean, deepspeed };
enum class WarmupType : std::uint8_t { log, linear };
enum class TailType : std::uint8_t { linear, sqrt, cosine };

struct ScheduleConfig {
  ScheduleType type = ScheduleType::cosine;
  ScheduleOrigin origin = ScheduleOrigin::clean;
  std::int64_t warmup = 0;  // steps; resolved: 1000 for the three warmup types unless given
  std::int64_t total = 0;   // steps; resolved: train.steps unless given
  double min_lr = 0.0;
  WarmupType warmup_type = WarmupType::log;  // the three warmup types
  double warmup_min_ratio = 0.0;             // warmup_cosine
  double cos_min_ratio = 1e-4;               // warmup_cosine
  std::int64_t decay = 0;                    // wsd: steps; resolved: a tenth of total
  TailType tail = TailType::linear;          // wsd
  // onecycle: lr rises from min_lr to optimizer.lr, falls back, then decays below min_lr.
  std::int64_t first_steps = 2000;
  std::int64_t second_steps = 0;  // resolved: first_steps unless given
  std::int64_t first_stairs = 0;
  std::int64_t second_stairs = -1;  // resolved: first_stairs unless given
  std::int64_t decay_steps = 0;     // 0 = no decay after the cycle.
  double decay_lr_rate = 0.0;
  bool cycle_momentum = true;
  double min_momentum = 0.8;
  double max_momentum = 0.9;
  double decay_momentum_rate = 0.0;
  // range_test: lr rises from optimizer.lr.
  std::int64_t range_steps = 2000;
  double range_rate = 1.0;
  bool range_staircase = false;
  friend bool operator==(const ScheduleConfig&, const ScheduleConfig&) = default;
};

enum class Precision : std::uint8_t { fp32, bf16, fp16 };
constexpr std::string_view name_of(Precision precision) {
  return precision == Precision::bf16 ? "bf16" : precision == Precision::fp16 ? "fp16" : "fp32";
}
/// split16: the bf16 weight is the upper half of the fp32 master; only the lower half is stored.
enum class MasterWeights : std::uint8_t { fp32, split16 };
enum class OnNonfinite : std::uint8_t { automatic, skip, abort };  // resolved: skip or abort
enum class AtMinScale : std::uint8_t { abort, proceed };

/// Dynamic loss scaling, for fp16.
struct LossScaleConfig {
  double fixed = 0.0;  // key "static"; 0 = dynamic
  std::int64_t init_power = 16;
  std::int64_t window = 1000;
  std::int64_t hysteresis = 2;
  bool consecutive = false;
  double min = 1.0;
  AtMinScale at_min = AtMinScale::abort;
  friend bool operator==(const LossScaleConfig&, const LossScaleConfig&) = default;
};

struct PrecisionConfig {
  Precision dtype = Precision::fp32;
  MasterWeights master = MasterWeights::fp32;
  std::string grad_accum = "fp32";
  OnNonfinite on_nonfinite = OnNonfinite::automatic;
  LossScaleConfig loss_scale;
  friend bool operator==(const PrecisionConfig&, const PrecisionConfig&) = default;
};

}  // namespace ds
