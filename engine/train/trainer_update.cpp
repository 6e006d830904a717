// Chooses the program of a step, and decides, guesses and corrects the numbers of its update.
#include <algorithm>
#include <utility>

#include "engine/train/trainer.h"

namespace ds {

void Trainer::choose_program() {
  const bool is_first = programs_.first && !update_is_due_;
  program_ = is_first ? &*programs_.first : is_odd_ ? &*programs_.odd : &programs_.step;
  executor_ = is_first ? &*first_executor_ : is_odd_ ? &*odd_executor_ : &*step_executor_;
}

// The number of target tokens is known before the step, and so are rank 0's scheduled numbers.
void Trainer::guess_update() {
  ControlWord word{.rank = world_.rank(), .step = step_, .epoch = world_.spec().epoch};
  for (std::size_t micro = 0; micro < program_->micro_batches.size(); ++micro) {
    const Tensor targets = memory_of(executor_->inputs(micro), input::kTargets);
    const auto* const first = static_cast<const std::int32_t*>(targets.data);
    word.tokens += std::count_if(first, first + targets.elements(),
                                 [](std::int32_t target) { return target >= 0; });
  }
  const ScheduledNumbers own = control_.scheduled();
  word.lr = own.lr;
  word.bias_correction1 = own.bias_correction1;
  word.bias_correction2 = own.bias_correction2;
  const InPhase phase(context_.phases, StepPhase::control);
  const ControlWord early = exchange(word).all;
  UpdateControl guess = control_;
  context_.update =
      guess.finish_step({.tokens = early.tokens}, {.lr = early.lr,
                                                   .bias_correction1 = early.bias_correction1,
                                                   .bias_correction2 = early.bias_correction2});
}

// after_op expects op indices of the step's program, so this program runs without it.
void Trainer::redo_update() {
  auto watcher = std::exchange(context_.after_op, nullptr);
  (is_odd_ ? odd_redo_executor_ : redo_executor_)->run(context_);
  context_.after_op = std::move(watcher);
}

void Trainer::correct_update() {
  const UpdateNumbers guessed = context_.update;
  context_.update = update_;
  if (!same_update(guessed, update_)) {
    redo_update();
    ++redone_updates_;
  }
  is_odd_ = !is_odd_;
}

// All ranks leave an exchange at the same time, so rank 0 knows how long the slowest one was in it.
StepDecision Trainer::exchange_times(ControlWord word) {
  if (context_.phases == nullptr) return exchange(word);
  PhaseClock& clock = *context_.phases;
  word.phases = clock.spent();
  word.own_work = own_work(word.phases);
  word.slowest = world_.rank();
  StepDecision decision = exchange(word);
  const double step = sum_of(clock.spent());
  clock.restart();
  phases_ = decision.all.phases;
  of_phase(phases_, StepPhase::control) += std::max(0.0, step - sum_of(phases_));
  return decision;
}

void Trainer::draw_decision(StepContext& context) {
  ControlWord word;
  {
    const InPhase phase(context_.phases, StepPhase::update);
    word = own_word();
  }
  decision_ = exchange_times(word);
  const GradientFacts facts{.loss = decision_.loss,
                            .norm = decision_.norm,
                            .non_finite = decision_.all.non_finite,
                            .tokens = decision_.all.tokens};
  is_refused_ = is_non_finite(facts) && config_.precision.on_nonfinite == OnNonfinite::abort;
  if (is_refused_) {
    context.update.skip = true;  // keeps the weights unchanged for the search
    return;
  }
  update_ = control_.finish_step(facts, {.lr = decision_.all.lr,
                                         .bias_correction1 = decision_.all.bias_correction1,
                                         .bias_correction2 = decision_.all.bias_correction2});
  if (!programs_.odd) context.update = update_;
}

void Trainer::flush() {
  if (!update_is_due_) return;
  flush_executor_->run(context_);
  update_is_due_ = false;
}

}  // namespace ds
