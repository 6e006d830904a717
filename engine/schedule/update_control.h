// UpdateControl: the numbers of each update: unscaling, clipping, the schedule, and which steps are
// skipped. Pure.
#pragma once

#include <cstdint>

#include "engine/config/train_config.h"
#include "engine/schedule/loss_scale.h"
#include "engine/schedule/schedule.h"
#include "engine/schedule/update_numbers.h"

namespace ds {

/// The numbers of the next update that rank 0 sends; all ranks use them.
struct ScheduledNumbers {
  double lr = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  friend bool operator==(const ScheduledNumbers&, const ScheduledNumbers&) = default;
};

/// Facts of all ranks together about a backward pass with the scale loss_scale().
struct GradientFacts {
  double loss = 0;              // mean over target tokens
  double norm = 0;              // of the gradient of the scaled sum of losses
  std::int64_t non_finite = 0;  // elements of that gradient
  std::int64_t tokens = 0;
};

/// Returns whether optimizer ops compute the same from both.
bool same_update(const UpdateNumbers& a, const UpdateNumbers& b);

/// Returns whether the step has no usable gradient.
bool is_non_finite(const GradientFacts& facts);

/// Counts the updates of a run; the same on every rank.
class UpdateControl {
 public:
  explicit UpdateControl(const TrainConfig& config);

  /// The factor of the loss in the next backward pass.
  [[nodiscard]] double loss_scale() const { return scale_.scale; }
  /// The numbers of the next update that is not skipped.
  [[nodiscard]] ScheduledNumbers scheduled() const;

  /// Ends a step. A skipped step moves neither the schedule nor the powers of the betas. The scale
  /// that multiplied the step's loss divides its gradients, also where the scale then changes.
  /// Errors: Error{system}: an overflow at the lowest loss scale. With on_nonfinite = abort the
  /// caller must have refused facts that are not finite.
  UpdateNumbers finish_step(const GradientFacts& facts, const ScheduledNumbers& rank0);

  /// Everything that a step changes.
  struct State {
    LossScaleState scale{};
    std::int64_t updates = 0, skipped = 0;
  };
  [[nodiscard]] State state() const { return {scale_, updates_, skipped_}; }
  /// Continues from a saved state; the loss scale as in resumed_loss_scale().
  void resume(const State& state);

  [[nodiscard]] std::int64_t updates() const { return updates_; }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

 private:
  const TrainConfig& config_;
  LossScaleState scale_;
  std::int64_t updates_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace ds
