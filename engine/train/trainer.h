// Trainer: memory, programs and steps of one rank of a training job. Output is made in job.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/step_phases.h"
#include "engine/comm/collectives.h"
#include "engine/config/planted_fault.h"
#include "engine/config/train_config.h"
#include "engine/data/open_data.h"
#include "engine/data/sampler.h"
#include "engine/execute/executor.h"
#include "engine/monitor/sample_ledger.h"
#include "engine/schedule/update_control.h"
#include "engine/states/fill_states.h"
#include "engine/states/saved_states.h"
#include "engine/states/snapshot.h"
#include "engine/states/state_source.h"
#include "engine/train/batch_loader.h"
#include "engine/train/control_word.h"
#include "engine/train/leaf_sums.h"
#include "engine/train/programs.h"
#include "engine/train/rank_memory.h"

namespace ds {

/// What this rank requests from the others in a step.
struct StepWishes {
  bool stop = false, pause = false, save = false, time_to_save = false, time_to_keep = false;
  // As in ControlWord:
  std::int64_t save_written = 0, save_failed = 0, save_over = 0, kept = 0, keep_failed = 0;
};

/// Where this rank's states are between two steps.
struct RankStates {
  const Program& program;  // the program whose groups own the states
  const ShardSpec& spec;
  const Executor& executor;
  RankMemory& memory;
};

struct StepReport {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean over the step's target tokens, nats
  double grad_norm = 0;   // gradient of the mean loss, before clipping
  double lr = 0;
  double loss_scale = 1;     // of this step's backward pass
  std::int64_t skipped = 0;  // steps skipped since the start, including this one
  std::int64_t redone = 0;   // updates repeated so far because a guess was wrong
  std::int64_t tokens = 0;   // of this step, all ranks, with or without a target
  double flops = 0;          // of this step, all ranks (engine/plan/work.h)
  std::int64_t samples = 0;  // of all ranks since training began, also over resumes
  // Of the rank that the others waited for, from the decision of the step before to this one's.
  PhaseSeconds phases{};
  int slowest = 0;     // that rank
  bool stop = false;   // a rank requested a stop; all ranks stop now
  bool pause = false;  // the launcher wants to begin anew with other ranks
  bool save = false;   // a rank requested a save
  bool time_to_save = false, time_to_keep = false;
  // As in ControlWord:
  std::int64_t save_written = 0, save_failed = 0, save_over = 0, kept = 0, keep_failed = 0;
};

class Trainer {
 public:
  /// Builds the programs, plans memory, compares the plan with the other ranks and allocates;
  /// begin() or resume() follow. Nothing more is allocated after that. All references must outlive
  /// the trainer. Errors: Error{config} if the model does not fit or ranks disagree; Error{comm}.
  Trainer(const TrainConfig& config, Backend& backend, const RankGroups& groups,
          const DataSet& data);

  /// Starts at step 0 with new_weights().
  void begin();
  /// Returns new weights, or those that model.init names. Errors: Error{config} if they cannot be
  /// read.
  [[nodiscard]] std::unique_ptr<StateSource> new_weights();
  /// Fills weights and states of this rank. May be repeated before the first step if a source is
  /// broken: nothing is left of that one. Errors: those of the source.
  void load(StateSource& source);
  /// Completes a load by all ranks from shared sources. Collective.
  void share(bool with_moments);
  /// Continues after `state.step` steps.
  void resume(const TrainingState& state);

  /// Runs one optimizer step: batch, forward and backward, reduction, decision, update. Numbers
  /// that are not finite skip the step or end the job (precision.on_nonfinite). Collective. Errors:
  /// Error{comm} if a rank is lost; Error{system} with the first op that made such a number, and
  /// the number.
  StepReport step(const StepWishes& wishes);

  /// Runs an update that is still due, so that all states are at the finished step. Collective.
  void flush();
  /// Returns the state from which the next step continues. After flush().
  [[nodiscard]] TrainingState state() const;
  [[nodiscard]] RankStates states();
  /// Returns where tiles of states() are copied while steps run. Only with asynchronous saves.
  [[nodiscard]] Snapshot& snapshot() { return *snapshot_; }
  [[nodiscard]] const ShardSpec& spec() const { return programs_.spec; }
  [[nodiscard]] const Program& step_program() const { return programs_.step; }
  [[nodiscard]] const TrainPrograms& programs() const { return programs_; }
  /// Returns the FLOPs of a step with these numbers of tokens and of targets.
  [[nodiscard]] double flops_of_step(std::int64_t tokens, std::int64_t targets) const {
    return programs_.flops_per_token * static_cast<double>(tokens) +
           programs_.flops_per_target * static_cast<double>(targets);
  }
  /// Returns arithmetic_list() of this job.
  [[nodiscard]] const std::string& arithmetic() const { return arithmetic_; }
  [[nodiscard]] std::int64_t finished_steps() const { return step_; }
  /// Returns the samples that all ranks have trained on since training began.
  [[nodiscard]] std::int64_t finished_samples() const {
    return first_sample_ + (step_ - first_step_) * batch_.global();
  }
  /// Returns the clock of the thread that runs the steps; null with log.phases = false.
  [[nodiscard]] PhaseClock* phases() { return context_.phases; }
  /// Records ops and phases from now on; null: no longer. Returns the time at which that begins or
  /// ends.
  Clock::time_point follow(OpTimes* times, TraceBuffer* trace);

  /// Returns the samples of this rank in the last step, in the order of micro-batches.
  [[nodiscard]] std::span<const TakenSample> taken() const { return taken_; }

  /// Returns the sets whose loss validate() computes.
  [[nodiscard]] std::span<const HeldOut> held_out() const { return held_out_; }
  /// Returns the mean loss over all targets of fixed rows of a set, with the same bits at any world
  /// size; NaN if these rows have no targets. Collective.
  double validate(const HeldOut& set);

  /// Returns text that continues config.sample.prompt, the same on every rank. Collective.
  std::string sample();

  /// Returns weights_hash() of weights.h on rank 0. Collective.
  [[nodiscard]] std::string weights_hash();
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] const PlacementPlan& plan() const { return plan_; }
  /// Returns, for messages, how files are accessed and, in the first epoch, their measured rates;
  /// empty without files.
  [[nodiscard]] const std::string& storage() const { return storage_; }
  [[nodiscard]] std::int64_t anonymous_bytes_before_arena() const { return anonymous_before_; }

 private:
  void agree() const;
  void start_loader();
  void load_batches();
  void bind_all();
  void choose_program();
  /// Sets the update numbers for updates during the backward pass, assuming that no clipping and no
  /// skip follows.
  void guess_update();
  /// Repeats the update if that assumption was wrong.
  void correct_update();
  /// Runs the update from the states that the step read, with the numbers of context_.
  void redo_update();
  void draw_decision(StepContext& context);
  ControlWord own_word();
  template <class T>
  [[nodiscard]] std::span<const T> numbers(ValueId id) const;
  StepDecision exchange(const ControlWord& word);
  StepDecision exchange_times(ControlWord word);
  [[nodiscard]] bool is_planted() const;
  void watch_for_plant();
  [[nodiscard]] Tensor host_copy(ValueId id);
  [[noreturn]] void report_non_finite();

  const TrainConfig& config_;
  Backend& backend_;
  Group& world_;
  const DataSet& data_;
  const std::vector<HeldOut> held_out_;
  std::string arithmetic_;
  TrainPrograms programs_;
  PlacementPlan plan_;
  std::int64_t anonymous_before_ = 0;
  std::string storage_;
  std::optional<RankMemory> memory_;
  std::optional<Snapshot> snapshot_;
  std::optional<LeafSums> leaf_sums_;
  std::optional<Executor> step_executor_, validation_executor_, prefill_executor_, decode_executor_,
      first_executor_, flush_executor_, odd_executor_, redo_executor_, odd_redo_executor_;
  StatesBefore states_before_ = StatesBefore::zeros;  // what the next load() finds
  bool update_is_due_ = false;  // the last step's update is left to the next step or flush()
  bool is_odd_ = false;         // updates during backward: the odd program's states are current
  const Program* program_ = nullptr;  // program of the current step
  Executor* executor_ = nullptr;
  BatchPlan batch_;
  PhaseClock clock_;
  StepContext context_;
  std::int64_t step_ = 0;                           // finished steps
  std::int64_t first_step_ = 0, first_sample_ = 0;  // of this run; samples continue from there
  StepWishes wishes_;
  StepDecision decision_;
  PhaseSeconds phases_{};  // as StepReport::phases
  UpdateNumbers update_;   // as decided, not guessed
  std::int64_t redone_updates_ = 0;
  UpdateControl control_;
  PlantedFault fault_;
  std::vector<std::byte> looked_at_;  // by host_copy()
  bool is_refused_ = false;           // the step is not finite and ends the job
  std::vector<SamplePlace> places_;   // of a validation's micro-batch
  std::vector<TakenSample> taken_;    // samples of the last step
  std::optional<BatchLoader> loader_;
};

}  // namespace ds
