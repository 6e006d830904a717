// One rank of a training job: memory, programs and the steps. What is printed or written is decided
// elsewhere (job.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"
#include "engine/comm/control_word.h"
#include "engine/config/planted_fault.h"
#include "engine/config/train_config.h"
#include "engine/data/corpus.h"
#include "engine/data/sampler.h"
#include "engine/execute/executor.h"
#include "engine/monitor/sample_ledger.h"
#include "engine/optim/update_control.h"
#include "engine/states/saved_states.h"
#include "engine/states/snapshot.h"
#include "engine/states/state_source.h"
#include "engine/train/programs.h"
#include "engine/train/rank_memory.h"

namespace ds {

/// What this rank asks of the others in a step.
struct StepWishes {
  bool stop = false, save = false, time_to_save = false;
  std::int64_t save_written = 0, save_failed = 0, save_over = 0;  // as in ControlWord
};

/// Where this rank's states lie between two steps.
struct RankStates {
  const Program& program;  // whose groups' states they are
  const ShardSpec& spec;
  const Executor& executor;
  RankMemory& memory;
};

struct StepReport {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean over the step's target tokens, nats
  double grad_norm = 0;   // of the mean loss, before clipping
  double lr = 0;
  double loss_scale = 1;     // of this step's backward pass
  std::int64_t skipped = 0;  // steps left out since the start, this one too
  std::int64_t redone = 0;   // updates made again so far, because a guess was wrong
  std::int64_t tokens = 0;   // of this step, all ranks
  bool stop = false;         // some rank wished to stop; all stop now
  bool save = false;         // some rank wished to save
  bool time_to_save = false;
  std::int64_t save_written = 0, save_failed = 0, save_over = 0;  // as in StepDecision
};

class Trainer {
 public:
  /// Builds the programs, plans memory, compares the plan with the other ranks' and takes the
  /// memory; then begin() or resume(). Beyond this point nothing more is allocated. All references
  /// must outlive the trainer. Errors: Error{config}: the model does not fit, ranks disagree;
  /// Error{comm}.
  Trainer(const TrainConfig& config, Backend& backend, const RankGroups& groups,
          const DataSet& data);

  /// New weights at step 0, or those that model.init names.
  void begin();
  /// Weights and states of this rank. Several times, if the first source turns out broken: before
  /// the first step. Errors: those of the source.
  void load(StateSource& source);
  /// After a load by all ranks from sources that are shared. Collective.
  void share(bool with_moments);
  /// Goes on after `state.step` steps.
  void resume(const TrainingState& state);

  /// One optimizer step: batch, forward and backward, reduction, decision, update. Collective.
  /// Numbers that are not finite leave the step out or end the job (precision.on_nonfinite).
  /// Errors: Error{comm} when a rank is gone; Error{system} naming the first operation that made
  /// such numbers, and what it made.
  StepReport step(const StepWishes& wishes);

  /// Everything is at "updated(step)": runs an update that is still due. Collective.
  void flush();
  /// After flush(), as next step finds it.
  [[nodiscard]] TrainingState state() const;
  [[nodiscard]] RankStates states();
  /// Where tiles of states() are copied while steps run; only with asynchronous saves.
  [[nodiscard]] Snapshot& snapshot() { return *snapshot_; }
  [[nodiscard]] const ShardSpec& spec() const { return programs_.spec; }
  [[nodiscard]] const Program& step_program() const { return programs_.step; }
  /// arithmetic_list() of this job.
  [[nodiscard]] const std::string& arithmetic() const { return arithmetic_; }
  [[nodiscard]] std::int64_t finished_steps() const { return step_; }

  /// What this rank took in the last step, micro-batch by micro-batch.
  [[nodiscard]] std::span<const TakenSample> taken() const { return taken_; }

  /// Mean loss over fixed windows of the held-out data, the same bits at any world size; nothing
  /// without such data. Collective.
  std::optional<double> validate();

  /// Text after config.sample.prompt, the same on every rank. Collective.
  std::string sample();

  /// As weights_hash() of weights.h: on rank 0. Collective.
  [[nodiscard]] std::string weights_hash();
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] const PlacementPlan& plan() const { return plan_; }
  /// For people: how files are reached, and their measured rates; empty without files.
  [[nodiscard]] const std::string& storage() const { return storage_; }
  [[nodiscard]] std::int64_t anonymous_bytes_before_arena() const { return anonymous_before_; }

 private:
  void agree() const;
  void load_batches();
  void bind_all();
  void choose_program();
  /// Updates during the backward pass: their numbers, if nothing will be clipped or left out.
  void guess_update();
  /// Makes them again if it was.
  void correct_update();
  /// From the states that the step has read, with the numbers of context_.
  void redo_update();
  void load_batch(Executor& executor, const Program& program, std::size_t micro,
                  const Corpus& corpus);
  void draw_decision(StepContext& context);
  ControlWord own_word() const;
  template <class T>
  [[nodiscard]] std::span<const T> numbers(ValueId id) const;
  StepDecision exchange(const ControlWord& word);
  [[nodiscard]] bool is_planted() const;
  void watch_for_plant();
  [[nodiscard]] Tensor host_copy(ValueId id);
  [[noreturn]] void report_non_finite();

  const TrainConfig& config_;
  Backend& backend_;
  Group& world_;
  const DataSet& data_;
  std::string arithmetic_;
  TrainPrograms programs_;
  PlacementPlan plan_;
  std::int64_t anonymous_before_ = 0;
  std::string storage_;
  std::optional<RankMemory> memory_;
  std::optional<Snapshot> snapshot_;
  std::optional<Executor> step_executor_, validation_executor_, trunk_executor_, first_executor_,
      flush_executor_, odd_executor_, redo_executor_, odd_redo_executor_;
  bool update_is_due_ = false;        // of the last step, by the next one or by flush()
  bool is_odd_ = false;               // of updates during the backward pass: the next step's states
  const Program* program_ = nullptr;  // of the step under way
  Executor* executor_ = nullptr;
  Sampler sampler_;
  BatchPlan batch_;
  StepContext context_;
  std::int64_t step_ = 0;                           // finished steps
  std::int64_t first_step_ = 0, first_sample_ = 0;  // of this run: samples go on from there
  StepWishes wishes_;
  StepDecision decision_;
  UpdateNumbers update_;  // as decided
  std::int64_t redone_updates_ = 0;
  UpdateControl control_;
  PlantedFault fault_;
  std::vector<std::byte> looked_at_;               // by host_copy()
  bool is_refused_ = false;                        // the step is not finite, and the job is to end
  std::vector<std::int64_t> offsets_;              // of one micro-batch's samples
  std::vector<TakenSample> taken_;                 // in the last step
  std::vector<std::byte> words_;                   // all ranks' encoded control words
  std::vector<std::span<std::byte>> word_pieces_;  // of words_
  std::vector<ControlWord> decoded_;
};

}  // namespace ds
