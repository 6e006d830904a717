// Schedules: the learning rate of each step and, with onecycle, the momenta. Pure functions in
// double.
#pragma once

#include <cstdint>

#include "engine/config/optim_config.h"

namespace ds {

/// Returns the rate of optimizer step `step`. Steps count from 1; a skipped step does not count.
///   constant, linear, cosine, wsd: step i is at position i (the rate is 0 only where min_lr is 0
///   and the schedule has ended):
///     step <= warmup:  peak * step / warmup
///     constant:        peak
///     linear, cosine:  from peak, at step = warmup, to min_lr at step = total, and min_lr after it
///     wsd:             peak until total - decay, then a tail to min_lr at total
///   all other types: deepspeed_lr().
/// Errors: none; requires warmup <= total where it is used, and 0 <= min_lr <= peak.
/// Source: cosine: Loshchilov and Hutter, arXiv:1608.03983, without restarts. wsd: Hu et al.,
/// arXiv:2404.06395; its tails: Haegele et al., arXiv:2405.18392.
double learning_rate(const ScheduleConfig& schedule, double peak, std::int64_t step);

/// Returns the rate of warmup, warmup_decay, warmup_cosine, onecycle or range_test at DeepSpeed's
/// index i:
///   origin = clean:     step t uses i = t
///   origin = deepspeed: step 1 uses the initial value, step t >= 2 uses i = t - 2
/// Source: DeepSpeed, deepspeed/runtime/lr_schedules.py (definitions, with the stairs of #8179 and
/// the end of the cosine of #8142).
double deepspeed_lr(const ScheduleConfig& schedule, double peak, std::int64_t step);

struct Momenta {
  double beta1, beta2;
  double momentum;  // of sgd
  friend bool operator==(const Momenta&, const Momenta&) = default;
};

/// Returns the momenta of `optimizer`, unless onecycle cycles them. Then beta1 (origin = clean:
/// sgd's momentum too) goes from max_momentum to min_momentum and back while the rate rises and
/// falls, and decays after the cycle. origin = deepspeed behaves as DeepSpeed: min_momentum at step
/// 1, beta2 = 0.99, growth instead of decay after the cycle (held below 1 here).
Momenta momenta(const ScheduleConfig& schedule, const OptimizerConfig& optimizer,
                std::int64_t step);

}  // namespace ds
