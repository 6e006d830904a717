// Warm-up, then constant, linear or cosine.
#include "engine/optim/schedule.h"

#include <cmath>
#include <numbers>

#include "engine/base/error.h"

namespace ds {

double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step) {
  DS_ASSERT(step >= 1 && schedule.warmup <= schedule.total);
  if (step <= schedule.warmup) {
    return peak * static_cast<double>(step) / static_cast<double>(schedule.warmup);
  }
  if (schedule.type == ScheduleType::constant) return peak;
  if (step >= schedule.total)
    return schedule.min_lr;  // Also when the warm-up is the whole schedule.
  const double progress = static_cast<double>(step - schedule.warmup) /
                          static_cast<double>(schedule.total - schedule.warmup);
  const double left = schedule.type == ScheduleType::linear
                          ? 1.0 - progress
                          : (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return schedule.min_lr + (peak - schedule.min_lr) * left;
}

}  // namespace ds
