// Loss scale for fp16, fixed or dynamic: a pure state machine.
#pragma once

#include <cstdint>

#include "engine/config/optim_config.h"

namespace ds {

/// The state before a step. `scale` multiplies the loss of that step and divides its gradients;
/// next_loss_scale() gives the state of the step after it.
struct LossScaleState {
  double scale = 1.0;
  std::int64_t hysteresis = 0;  // overflows until the scale halves
  std::int64_t iteration = 0;   // steps so far, including skipped ones
  std::int64_t last_overflow = -1;
  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

/// Returns 1 for fp32 and bf16; for fp16 the fixed scale, or 2^init_power.
LossScaleState first_loss_scale(const PrecisionConfig& precision);

/// Returns the state of a resumed run: `saved` if it is a dynamic scale, else the first one.
LossScaleState resumed_loss_scale(const PrecisionConfig& precision, const LossScaleState& saved);

/// Returns the state after a step whose gradients overflowed or not; an overflowed step must be
/// skipped. Dynamic: `hysteresis` overflows halve the scale, and so does each one after them, until
/// `window` steps without overflow double it and restore the hysteresis.
/// Errors: Error{system}: an overflow at the lowest scale, with at_min = abort.
/// Source: DeepSpeed's DynamicLossScaler, except for the order within a step: DeepSpeed divides the
/// gradients of a step at which the scale grows by the grown scale.
LossScaleState next_loss_scale(const PrecisionConfig& precision, LossScaleState state,
                               bool overflow);

}  // namespace ds
