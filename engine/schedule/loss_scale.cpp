// Loss scale: halving, hysteresis and growth.
#include "engine/schedule/loss_scale.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace ds {
namespace {

bool is_dynamic(const PrecisionConfig& precision) {
  return precision.dtype == Precision::fp16 && precision.loss_scale.fixed == 0.0;
}

void lower(const LossScaleConfig& config, LossScaleState& state) {
  if (config.hysteresis != 1 && state.hysteresis != 1) {
    --state.hysteresis;
    return;
  }
  if (state.scale == config.min && config.at_min == AtMinScale::abort) {
    throw Error(ErrorKind::system,
                fmt::format("the gradients overflow fp16 at the lowest loss scale, {}", config.min),
                "lower optimizer.lr, lengthen schedule.warmup, or use precision.dtype = \"bf16\"; "
                "precision.loss_scale.at_min = \"continue\" keeps training and skips such steps");
  }
  state.scale = std::max(state.scale / 2, config.min);  // the hysteresis stays used up
}

}  // namespace

LossScaleState first_loss_scale(const PrecisionConfig& precision) {
  if (precision.dtype != Precision::fp16) return {};
  const LossScaleConfig& config = precision.loss_scale;
  if (config.fixed != 0.0) return {.scale = config.fixed};
  return {.scale = std::ldexp(1.0, static_cast<int>(config.init_power)),
          .hysteresis = config.hysteresis};
}

// A saved scale without hysteresis was fixed or of another precision, so it is not used.
LossScaleState resumed_loss_scale(const PrecisionConfig& precision, const LossScaleState& saved) {
  return is_dynamic(precision) && saved.hysteresis > 0 ? saved : first_loss_scale(precision);
}

LossScaleState next_loss_scale(const PrecisionConfig& precision, LossScaleState state,
                               bool overflow) {
  if (!is_dynamic(precision)) return state;
  const LossScaleConfig& config = precision.loss_scale;
  if (overflow) {
    lower(config, state);
    state.last_overflow = state.iteration;
  } else {
    if (config.consecutive) state.hysteresis = config.hysteresis;
    const std::int64_t stable = state.iteration - state.last_overflow - 1;
    if (stable > 0 && stable % config.window == 0) {
      state.hysteresis = config.hysteresis;
      state.scale *= 2;
    }
  }
  ++state.iteration;
  return state;
}

}  // namespace ds
