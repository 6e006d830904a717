// The learning rate of every step: pure functions in double.
#pragma once

#include <cstdint>

#include "engine/config/train_config.h"

namespace ds {

/// The rate that optimizer step `step` uses. Steps count from 1, and step i uses position i
/// ("clean" numbering: no step trains at rate 0 unless min_lr is 0 and the schedule has ended).
///   step <= warmup:  peak * step / warmup
///   constant:        peak
///   linear, cosine:  from peak, at step = warmup, to min_lr at step = total, and min_lr after it
/// Errors: none; warmup <= total, 0 <= min_lr <= peak.
/// Source: cosine: Loshchilov and Hutter, arXiv:1608.03983, without restarts.
double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step);

}  // namespace ds
