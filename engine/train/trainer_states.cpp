// Initial states of a trainer, their places, and the training state of a checkpoint.
#include <utility>

#include "engine/states/first_weights.h"
#include "engine/states/share_states.h"
#include "engine/train/trainer.h"

namespace ds {

std::unique_ptr<StateSource> Trainer::new_weights() {
  return std::make_unique<FirstWeights>(config_, programs_.step, host_kernels_of(backend_),
                                        memory_->stream(), memory_->workplace().activity);
}

void Trainer::load(StateSource& source) {
  DS_ASSERT(step_ == 0 && !is_odd_ && !update_is_due_, "states are filled before the first step");
  fill_states(programs_.step, programs_.spec, *step_executor_, memory_->files(), source,
              host_kernels_of(backend_), memory_->stream(), backend_.host_threads,
              std::exchange(states_before_, StatesBefore::any));
  source.finish();
}

void Trainer::begin() {
  loader_->begin(finished_samples());
  load(*new_weights());
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
