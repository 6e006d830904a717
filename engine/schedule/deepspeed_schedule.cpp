// deepspeed_lr() and momenta(): DeepSpeed's five schedules, in its numbering of steps and in the
// clean one.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/error.h"
#include "engine/schedule/schedule.h"

namespace ds {
namespace {

constexpr double kDeepSpeedBeta2 = 0.99;
constexpr double kHighestMomentum = 0.999999;
constexpr std::int64_t kInitial = -1;

std::int64_t index_of(const ScheduleConfig& schedule, std::int64_t step) {
  DS_ASSERT(step >= 1);
  if (schedule.origin == ScheduleOrigin::clean) return step;
  return step == 1 ? kInitial : step - 2;
}

std::int64_t warmup_steps(const ScheduleConfig& schedule) {
  return std::max<std::int64_t>(2, schedule.warmup);
}

/// Returns the fraction of the warm-up done at i < warmup_steps().
double warmup_done(const ScheduleConfig& schedule, std::int64_t i) {
  const auto n = static_cast<double>(warmup_steps(schedule));
  if (schedule.warmup_type == WarmupType::linear) return static_cast<double>(i) / n;
  return std::log(static_cast<double>(i + 1)) / std::log(n);
}

double warmup_lr(const ScheduleConfig& schedule, double peak, std::int64_t i) {
  if (i == kInitial) return schedule.min_lr;
  const std::int64_t n = warmup_steps(schedule);
  double part = 1.0;
  if (i < n) {
    part = warmup_done(schedule, i);
  } else if (schedule.type == ScheduleType::warmup_decay) {
    const auto span = static_cast<double>(std::max<std::int64_t>(1, schedule.total - n));
    part = std::max(0.0, static_cast<double>(schedule.total - i) / span);
  }
  return schedule.min_lr + (peak - schedule.min_lr) * part;
}

double warmup_cosine_lr(const ScheduleConfig& schedule, double peak, std::int64_t i) {
  if (i == kInitial) return 0.0;
  const std::int64_t n = warmup_steps(schedule);
  if (i < n) {
    const double lowest = schedule.warmup_min_ratio;
    return peak * (lowest + (1.0 - lowest) * warmup_done(schedule, i));
  }
  const auto span = static_cast<double>(std::max<std::int64_t>(1, schedule.total - n));
  const double progress = std::min(1.0, static_cast<double>(i - n + 1) / span);
  const double left = (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return peak * (schedule.cos_min_ratio + (1.0 - schedule.cos_min_ratio) * left);
}

std::int64_t cycle_steps(const ScheduleConfig& schedule) {
  return schedule.first_steps + schedule.second_steps;
}

/// Returns the height in the cycle, 0 to 1. Stairs are cut in whole steps: rounding just below a
/// stair would drop a whole stair.
double cycle_height(const ScheduleConfig& schedule, std::int64_t i) {
  const std::int64_t at = (i + 1) % cycle_steps(schedule);
  const bool rising = at <= schedule.first_steps;
  const std::int64_t done = rising ? at : cycle_steps(schedule) - at;
  const std::int64_t steps = rising ? schedule.first_steps : schedule.second_steps;
  const std::int64_t stairs = rising ? schedule.first_stairs : schedule.second_stairs;
  if (stairs == 0) return static_cast<double>(done) / static_cast<double>(steps);
  const double stair = std::floor(static_cast<double>(done) * static_cast<double>(stairs) /
                                  static_cast<double>(steps));
  return stair / static_cast<double>(stairs);
}

/// Returns 1 + rate * steps after the cycle / decay_steps.
double decay_divisor(const ScheduleConfig& schedule, double rate, std::int64_t i) {
  if (schedule.decay_steps == 0) return 1.0;
  const auto steps = static_cast<double>(i - cycle_steps(schedule) + 1);
  return 1.0 + rate * (steps / static_cast<double>(schedule.decay_steps));
}

double onecycle_lr(const ScheduleConfig& schedule, double peak, std::int64_t i) {
  if (i == kInitial) return schedule.min_lr;
  if (i >= cycle_steps(schedule)) {
    return schedule.min_lr / decay_divisor(schedule, schedule.decay_lr_rate, i);
  }
  return schedule.min_lr + (peak - schedule.min_lr) * cycle_height(schedule, i);
}

double onecycle_momentum(const ScheduleConfig& schedule, std::int64_t i) {
  if (i == kInitial) return schedule.min_momentum;
  const double highest = schedule.max_momentum;
  if (i < cycle_steps(schedule)) {
    return highest - (highest - schedule.min_momentum) * cycle_height(schedule, i);
  }
  const double divisor = decay_divisor(schedule, schedule.decay_momentum_rate, i);
  if (schedule.origin == ScheduleOrigin::clean) return highest / divisor;
  return std::min(kHighestMomentum, highest * divisor);
}

double range_test_lr(const ScheduleConfig& schedule, double lowest, std::int64_t i) {
  if (i == kInitial) return lowest;
  const double at = static_cast<double>(i + 1) / static_cast<double>(schedule.range_steps);
  return lowest * (1.0 + schedule.range_rate * (schedule.range_staircase ? std::floor(at) : at));
}

}  // namespace

double deepspeed_lr(const ScheduleConfig& schedule, double peak, std::int64_t step) {
  const std::int64_t i = index_of(schedule, step);
  switch (schedule.type) {
    case ScheduleType::warmup:
    case ScheduleType::warmup_decay:
      return warmup_lr(schedule, peak, i);
    case ScheduleType::warmup_cosine:
      return warmup_cosine_lr(schedule, peak, i);
    case ScheduleType::onecycle:
      return onecycle_lr(schedule, peak, i);
    default:
      DS_ASSERT(schedule.type == ScheduleType::range_test);
      return range_test_lr(schedule, peak, i);
  }
}

Momenta momenta(const ScheduleConfig& schedule, const OptimizerConfig& optimizer,
                std::int64_t step) {
  Momenta own{optimizer.betas[0], optimizer.betas[1], optimizer.momentum};
  if (schedule.type != ScheduleType::onecycle || !schedule.cycle_momentum) return own;
  const double cycled = onecycle_momentum(schedule, index_of(schedule, step));
  own.beta1 = cycled;
  if (schedule.origin == ScheduleOrigin::deepspeed) {
    own.beta2 = kDeepSpeedBeta2;
  } else {
    own.momentum = cycled;
  }
  return own;
}

}  // namespace ds
