// The scale of the loss for fp16, fixed or dynamic: a pure state machine.
#pragma once

#include <cstdint>

#include "engine/config/optim_config.h"

namespace ds {

/// The state before a step. `scale` multiplies the loss of that step, and the same number divides
/// its gradients: next_loss_scale() gives the scale of the step after it.
struct LossScaleState {
  double scale = 1.0;
  std::int64_t hysteresis = 0;  // Overflows until the scale halves.
  std::int64_t iteration = 0;   // Steps so far, skipped ones too.
  std::int64_t last_overflow = -1;
  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

/// fp32 and bf16: 1, always. fp16: the fixed scale, or two to the init_power.
LossScaleState first_loss_scale(const PrecisionConfig& precision);

/// That of a run that goes on where `saved` was: a dynamic scale that was saved, else the first
/// one.
LossScaleState resumed_loss_scale(const PrecisionConfig& precision, const LossScaleState& saved);

/// After a step whose gradients did (`overflow`) or did not overflow; an overflowed step is to be
/// skipped. Dynamic: `hysteresis` overflows halve the scale, and every one after them, until
/// `window` steps without overflow double it and restore the hysteresis.
/// Errors: Error{system}: an overflow at the lowest scale, with at_min = abort.
/// Source: DeepSpeed's DynamicLossScaler, but for the order in a step: there a step at which the
/// scale grows divides its gradients by the grown scale.
LossScaleState next_loss_scale(const PrecisionConfig& precision, LossScaleState state,
                               bool overflow);

}  // namespace ds
