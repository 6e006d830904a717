// The numbers of each update: unscaling, clipping, the schedule, and which steps are left out.
// Pure.
#pragma once

#include <cstdint>

#include "engine/config/train_config.h"
#include "engine/optim/loss_scale.h"
#include "engine/optim/schedule.h"

namespace ds {

/// What rank 0 says of the coming update; the others take its numbers.
struct ScheduledNumbers {
  double lr = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  friend bool operator==(const ScheduledNumbers&, const ScheduledNumbers&) = default;
};

/// Of all ranks together, of a backward pass that began with loss_scale().
struct GradientFacts {
  double loss = 0;              // mean over target tokens
  double norm = 0;              // of the gradient of the scaled sum of losses
  std::int64_t non_finite = 0;  // elements of that gradient
  std::int64_t tokens = 0;
};

/// What the optimizer ops of one step take.
struct UpdateNumbers {
  bool skip = false;     // Weights and moments stay as they are.
  double grad_norm = 0;  // of the mean loss, unscaled, before clipping
  float grad_scale = 1;  // unscales, divides by the tokens, clips
  float lr = 0, beta1 = 0, beta2 = 0, momentum = 0, eps = 0, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;
};

/// Whether the optimizer ops make the same of both.
bool same_update(const UpdateNumbers& a, const UpdateNumbers& b);

/// True when the step has no gradient to use.
bool is_non_finite(const GradientFacts& facts);

/// Counts the updates of a run. The same on every rank.
class UpdateControl {
 public:
  explicit UpdateControl(const TrainConfig& config);

  /// What the next backward pass multiplies its loss with.
  [[nodiscard]] double loss_scale() const { return scale_.scale; }
  /// Of the next update that is not skipped.
  [[nodiscard]] ScheduledNumbers scheduled() const;

  /// Ends a step. A skipped one moves neither the schedule nor the powers of the betas. The same
  /// scale that the step's loss was multiplied with divides its gradients, also where the scale
  /// then changes. Errors: Error{system}: an overflow at the lowest loss scale. With on_nonfinite =
  /// abort the caller has refused facts that are not finite.
  UpdateNumbers finish_step(const GradientFacts& facts, const ScheduledNumbers& rank0);

  /// Everything that steps change.
  struct State {
    LossScaleState scale{};
    std::int64_t updates = 0, skipped = 0;
  };
  [[nodiscard]] State state() const { return {scale_, updates_, skipped_}; }
  /// Goes on from there; the loss scale as resumed_loss_scale().
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
