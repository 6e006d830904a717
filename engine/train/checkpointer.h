// Saves of a job: when, beside the training or while it waits, and how each one ends, on every rank
// alike.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/checkpoint_line.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/states/save_states.h"
#include "engine/train/save_task.h"
#include "engine/train/trainer.h"

namespace ds {

/// What a save's manifest says beside the trainer's own facts.
struct SaveFacts {
  Origin origin;
  std::string config;      // to_toml()
  std::int64_t bytes = 0;  // of one checkpoint: as many must be free
};

/// Told on rank 0. `failed`: why the save is not there; else it is.
struct SaveTold {
  SavedCheckpoint saved;
  std::optional<std::string> failed{};
  double flush_s = 0;  // updates that were still due
};

/// Every rank makes one and calls it alike: its calls are collective, but for wish().
class Checkpointer {
 public:
  using Tell = std::function<void(const SaveTold&)>;

  /// `folder`: of start_saves(). All references outlive it.
  Checkpointer(const TrainConfig& config, Trainer& trainer, Group& world,
               std::unique_ptr<SaveFolder> folder, SaveFacts facts, Tell tell);
  /// A save that is still being written is left half-done.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Adds what this rank says of saves to its next control word.
  void wish(StepWishes& wishes) const;
  /// After every step: follows the save under way, begins the next one. `is_last`: no step comes
  /// after this one; returns when nothing is under way any more. Errors: Error{comm}.
  void after_step(const StepReport& report, bool is_last);
  /// Step that the newest save of this run is of; 0: none.
  [[nodiscard]] std::int64_t saved_step() const { return saved_step_; }
  /// Errors: Error{system}: all steps were run, and the checkpoint of the last one is not there.
  void require_end() const;

 private:
  struct UnderWay {
    std::int64_t number = 0, step = 0;
    bool asked = false, committing = false;
    double stall_s = 0, flush_s = 0;
    Clock::time_point began;
    Manifest head{};
    SaveOutcome all{};  // ranks, once all have written
  };

  [[nodiscard]] bool is_due(const StepReport& report) const;
  [[nodiscard]] bool is_major(std::int64_t step) const;
  void last_step(const StepReport& report);
  UnderWay& prepare(std::int64_t step);
  void begin(std::int64_t step);
  void save_now(std::int64_t step);
  void follow(const StepReport& report);
  /// Waits for the save under way; without the limit of its rate.
  void finish();
  void give_up();
  void finish_writing(bool wait);
  [[nodiscard]] SaveOutcome written();
  [[nodiscard]] SaveOutcome write_part(const StatesToSave& states, std::span<std::byte> buffer,
                                       std::int64_t step) noexcept;
  /// `wait`: the commit too is done when it returns.
  void after_writing(const SaveOutcome& all, bool wait);
  [[nodiscard]] SaveOutcome commit() noexcept;
  void conclude(SaveOutcome end);

  const TrainConfig& config_;
  Trainer& trainer_;
  Group& world_;
  const SaveFacts facts_;
  const Tell tell_;
  std::unique_ptr<SaveFolder> folder_;
  std::vector<SavedTile> tiles_;
  std::optional<UnderWay> under_way_;
  std::int64_t number_ = 0;  // of the newest save
  std::int64_t saved_step_ = 0;
  bool due_ = false, asked_ = false;
  bool lacks_end_ = false;
  Clock::time_point last_begin_ = Clock::now();
  std::atomic<bool> cancel_{false}, hurry_{false};
  SaveTask task_;  // last: it ends before what it uses
};

}  // namespace ds
