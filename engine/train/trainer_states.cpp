// Initial states of a trainer, their places, and the training state of a checkpoint.
#include "engine/states/adapted_weights.h"
#include "engine/states/imported_weights.h"
#include "engine/states/share_states.h"
#include "engine/states/weights.h"
#include "engine/train/trainer.h"

namespace ds {

void Trainer::begin() {
  loader_->begin(finished_samples());
  NewWeights fresh(static_cast<std::uint64_t>(config_.train.seed), host_kernels_of(backend_),
                   memory_->stream());
  std::optional<ImportedWeights> imported;
  if (is_imported(config_.model)) imported.emplace(config_, memory_->workplace().activity);
  std::optional<PeftFolder> adapters;
  if (!config_.lora.from.empty())
    adapters.emplace(config_.lora.from, config_.model, adapter_shapes(programs_.step));
  StateSource& base = imported ? static_cast<StateSource&>(*imported) : fresh;
  AdaptedWeights source(base, fresh, adapters ? &*adapters : nullptr);
  load(source);
  if (imported) imported->require_finite();
}

void Trainer::load(StateSource& source) {
  DS_ASSERT(step_ == 0 && !is_odd_ && !update_is_due_, "states are filled before the first step");
  fill_states(programs_.step, programs_.spec, *step_executor_, memory_->files(), source,
              host_kernels_of(backend_), memory_->stream());
}

void Trainer::share(bool with_moments) {
  share_states(programs_.step, programs_.spec, *step_executor_, world_, with_moments);
}

void Trainer::resume(const TrainingState& state) {
  step_ = first_step_ = state.step;
  first_sample_ = state.next_sample;
  loader_->begin(finished_samples());
  control_.resume({.scale = state.loss_scale, .updates = state.updates, .skipped = state.skipped});
}

TrainingState Trainer::state() const {
  DS_ASSERT(!update_is_due_, "call flush() first");
  const UpdateControl::State control = control_.state();
  return {.step = step_,
          .next_sample = finished_samples(),
          .seed = config_.train.seed,
          .updates = control.updates,
          .skipped = control.skipped,
          .lr = decision_.all.lr,
          .loss_scale = control.scale};
}

RankStates Trainer::states() {
  DS_ASSERT(!update_is_due_, "call flush() first");
  return {.program = is_odd_ ? *programs_.odd : programs_.step,
          .spec = programs_.spec,
          .executor = is_odd_ ? *odd_executor_ : *step_executor_,
          .memory = *memory_};
}

}  // namespace ds
