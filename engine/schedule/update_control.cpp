// UpdateControl: the numbers of one step, in double until the kernels take them.
#include "engine/schedule/update_control.h"

#include <algorithm>
#include <cmath>

namespace ds {
namespace {

constexpr double kNormEpsilon = 1e-6;  // as PyTorch and DeepSpeed clip

}  // namespace

bool same_update(const UpdateNumbers& a, const UpdateNumbers& b) {
  return a.skip == b.skip && a.numbers == b.numbers;
}

bool is_non_finite(const GradientFacts& facts) {
  return facts.non_finite > 0 || !std::isfinite(facts.loss) || !std::isfinite(facts.norm);
}

UpdateControl::UpdateControl(const TrainConfig& config)
    : config_(config), scale_(first_loss_scale(config.precision)) {}

ScheduledNumbers UpdateControl::scheduled() const {
  const std::int64_t update = updates_ + 1;
  const Momenta now = momenta(config_.schedule, config_.optimizer, update);
  const auto t = static_cast<double>(update);
  return {.lr = learning_rate(config_.schedule, config_.optimizer.lr, update),
          .bias_correction1 = 1.0 - std::pow(now.beta1, t),
          .bias_correction2 = 1.0 - std::pow(now.beta2, t)};
}

void UpdateControl::resume(const State& state) {
  scale_ = resumed_loss_scale(config_.precision, state.scale);
  updates_ = state.updates;
  skipped_ = state.skipped;
}

UpdateNumbers UpdateControl::finish_step(const GradientFacts& facts,
                                         const ScheduledNumbers& rank0) {
  const double whole = static_cast<double>(std::max<std::int64_t>(facts.tokens, 1)) * scale_.scale;
  const double norm = facts.norm / whole;
  const double clip = config_.optimizer.clip;
  const double factor = clip > 0 ? std::min(1.0, clip / (norm + kNormEpsilon)) : 1.0;
  const Momenta now = momenta(config_.schedule, config_.optimizer, updates_ + 1);
  const bool skip = is_non_finite(facts);
  scale_ = next_loss_scale(config_.precision, scale_, skip);
  (skip ? skipped_ : updates_) += 1;
  return {.skip = skip,
          .grad_norm = norm,
          .numbers = {.grad_scale = static_cast<float>(factor / whole),
                      .lr = static_cast<float>(rank0.lr),
                      .beta1 = static_cast<float>(now.beta1),
                      .beta2 = static_cast<float>(now.beta2),
                      .eps = static_cast<float>(config_.optimizer.eps),
                      .weight_decay = static_cast<float>(config_.optimizer.weight_decay),
                      .bias_correction1 = static_cast<float>(rank0.bias_correction1),
                      .bias_correction2 = static_cast<float>(rank0.bias_correction2),
                      .momentum = static_cast<float>(now.momentum),
                      .nesterov = config_.optimizer.nesterov}};
}

}  // namespace ds
