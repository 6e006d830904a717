// Checkpointer: decides when a job saves and follows each save, the same on every rank.
// Training waits for a save or continues meanwhile.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/checkpoint_line.h"
#include "engine/base/function_ref.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/states/save_states.h"
#include "engine/train/save_source.h"
#include "engine/train/save_task.h"
#include "engine/train/trainer.h"

namespace ds {

/// Report of a save on rank 0. `failed` is the reason if the save failed.
struct SaveTold {
  SavedCheckpoint saved;
  std::optional<std::string> failed{};
  double flush_s = 0;  // time of updates that were still due
};

/// Every rank creates one and makes the same calls. All calls but wish() are collective.
class Checkpointer {
 public:
  using Tell = std::function<void(const SaveTold&)>;

  /// `folder` comes from start_saves(). All references outlive the object.
  Checkpointer(const TrainConfig& config, Trainer& trainer, Group& world,
               std::unique_ptr<SaveFolder> folder, SaveFacts facts, Tell tell);
  /// Leaves a save that is still being written incomplete.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Adds this rank's requests and progress of saves to its next control word.
  void wish(StepWishes& wishes) const;
  /// Follows the save in progress and begins the next one. Called after every step. With `is_last`
  /// it returns only when no save is in progress. Errors: Error{comm}.
  void after_step(const StepReport& report, bool is_last);
  /// Saves the step before the job pauses. Returns whether there is a checkpoint of it.
  bool save_for_pause(const StepReport& report);
  /// Ends the save in progress, if a request waits for it, or gives it up: the states are kept.
  /// Returns whether a request is left, also of this step, which save_for_pause() answers.
  bool leave_for_pause(const StepReport& report);
  /// Returns whether a save uses the memory of the copy, or waits for it. The same on all ranks.
  [[nodiscard]] bool needs_copy() const {
    return due_ || (under_way_ && !under_way_->committing && !is_copy_elsewhere_);
  }
  /// For saves that share the memory of the copy with others. Collective.
  struct SharedCopy {
    /// Returns whether the memory is free; with `wait` it returns when it is.
    std::function<bool(bool wait)> is_free{};
    /// Returns a copy of this step in other memory; null: there is none. The memory is free.
    std::function<std::shared_ptr<SaveCopy>(std::int64_t step)> elsewhere{};
  };
  void share_copy(SharedCopy shared) { shared_ = std::move(shared); }
  /// Returns whether after_step() will give up the save in progress, in the last step.
  [[nodiscard]] bool gives_up(const StepReport& report) const {
    return under_way_ && report.stop && wants_last(report) && under_way_->step != report.step;
  }
  /// Returns the step of this run's newest save; 0: none.
  [[nodiscard]] std::int64_t saved_step() const { return saved_step_; }
  /// Errors: Error{system} if all steps ran but the checkpoint of the last step was not saved.
  void require_end() const;

 private:
  struct UnderWay {
    std::int64_t number = 0, step = 0;
    bool asked = false, committing = false;
    double stall_s = 0, flush_s = 0;
    Clock::time_point began;
    Manifest head{};
    SaveOutcome all{};  // of all ranks, once all have written
  };

  [[nodiscard]] bool is_due(const StepReport& report) const;
  [[nodiscard]] bool is_major(std::int64_t step) const;
  /// Returns whether the last step is to be saved.
  [[nodiscard]] bool wants_last(const StepReport& report) const;
  void last_step(const StepReport& report);
  UnderWay& prepare(std::int64_t step);
  void begin(std::int64_t step);
  void save_now(std::int64_t step);
  void follow(const StepReport& report);
  /// Waits for the save in progress, without its rate limit.
  void finish();
  void give_up();
  void finish_writing(bool wait);
  [[nodiscard]] SaveOutcome written();
  using Write = FunctionRef<ChunkPart(ChunkWriter& chunk)>;
  [[nodiscard]] SaveOutcome write_part(const Write& write, std::int64_t step) noexcept;
  /// With `wait`, the commit is complete when it returns.
  void after_writing(const SaveOutcome& all, bool wait);
  [[nodiscard]] SaveOutcome commit() noexcept;
  void conclude(SaveOutcome end);

  const TrainConfig& config_;
  Trainer& trainer_;
  Group& world_;
  const SaveFacts facts_;
  const Tell tell_;
  SharedCopy shared_;
  std::shared_ptr<SaveCopy> copy_;  // that the save in progress reads
  bool is_copy_elsewhere_ = false;
  std::unique_ptr<SaveFolder> folder_;
  std::vector<SavedTile> tiles_;
  std::optional<UnderWay> under_way_;
  std::int64_t number_ = 0;  // number of the newest save
  std::int64_t saved_step_ = 0;
  bool due_ = false, asked_ = false;
  bool lacks_end_ = false;
  Clock::time_point last_begin_ = Clock::now();
  std::atomic<bool> cancel_{false}, hurry_{false};
  SaveTask task_;  // last member, so that it ends before what it uses
};

}  // namespace ds
