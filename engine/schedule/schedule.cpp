// learning_rate(): warm-up, then constant, linear, cosine, or a stable part with a tail.
#include "engine/schedule/schedule.h"

#include <cmath>
#include <numbers>

#include "engine/base/error.h"

namespace ds {
namespace {

/// Returns the remaining fraction of the distance to min_lr, at `x` of the tail.
double tail_left(TailType tail, double x) {
  switch (tail) {
    case TailType::linear:
      return 1.0 - x;
    case TailType::sqrt:
      return 1.0 - std::sqrt(x);
    case TailType::cosine:
      return (1.0 + std::cos(std::numbers::pi * x)) / 2.0;
  }
  return 0.0;
}

double wsd_left(const ScheduleConfig& schedule, std::int64_t step) {
  const std::int64_t stable_end = schedule.total - schedule.decay;
  if (step <= stable_end) return 1.0;
  return tail_left(schedule.tail,
                   static_cast<double>(step - stable_end) / static_cast<double>(schedule.decay));
}

bool is_deepspeed(ScheduleType type) { return type >= ScheduleType::warmup; }

}  // namespace

double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step) {
  if (is_deepspeed(schedule.type)) return deepspeed_lr(schedule, peak, step);
  DS_ASSERT(step >= 1 && schedule.warmup <= schedule.total);
  if (step <= schedule.warmup) {
    return peak * static_cast<double>(step) / static_cast<double>(schedule.warmup);
  }
  if (schedule.type == ScheduleType::constant) return peak;
  if (step >= schedule.total)
    return schedule.min_lr;  // also when the warm-up is the whole schedule
  const double progress = static_cast<double>(step - schedule.warmup) /
                          static_cast<double>(schedule.total - schedule.warmup);
  const double left = schedule.type == ScheduleType::wsd ? wsd_left(schedule, step)
                      : schedule.type == ScheduleType::linear
                          ? 1.0 - progress
                          : (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return schedule.min_lr + (peak - schedule.min_lr) * left;
}

}  // namespace ds
