// Resume: where a job begins, the same on all ranks: in the memory of the nodes, at a checkpoint,
// or with new weights. It is found before the config is complete, and loaded when the rank has its
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/find_checkpoint.h"
#include "engine/comm/rendezvous.h"
#include "engine/config/load.h"
#include "engine/keep/kept_memory.h"
#include "engine/train/arithmetic_differences.h"
#include "engine/train/start_vote.h"
#include "engine/train/trainer.h"

namespace ds {

/// What the nodes keep, for an epoch after the first.
struct Recovery {
  std::unique_ptr<KeptMemory> memory{};
  std::int64_t newest_on_disk = -1;  // as newest_saved_step() found on rank 0
};

/// How a job began, for records.
struct Began {
  enum class From : std::uint8_t { new_weights, checkpoint, memory } from = From::new_weights;
  std::int64_t step = 0;
  int ranks_before = 0;                          // that made the states; 0: new weights
  std::int64_t bytes_read = 0, bytes_moved = 0;  // of all ranks
  double seconds = 0;
};

/// Finds where to begin, and keeps older places in case that one is broken.
class Resume {
 public:
  /// Reads the checkpoint folder. Errors: Error{config}, as ResumeSearch.
  Resume(const CheckpointConfig& config, const Rendezvous& job);
  /// Prefers a step in memory to a checkpoint that is not newer, and then opens no checkpoint.
  Resume(const CheckpointConfig& config, const Rendezvous& job, Recovery recovery);

  /// Returns what to resume from, a kept step without its chunks; null: the job starts at step 0.
  [[nodiscard]] const Checkpoint* checkpoint() const { return found_.checkpoint.get(); }
  /// Returns the state that training goes on from; that of step 0 if it begins anew.
  [[nodiscard]] TrainingState state() const;
  [[nodiscard]] const Origin& origin() const { return found_.origin; }
  /// As ResumeSearch::newest().
  [[nodiscard]] std::int64_t newest() const { return search_.newest(); }
  /// Returns overrides for the settings that a job keeps from its first start unless they are
  /// given: the number of virtual ranks and the order of sums.
  [[nodiscard]] std::vector<std::string> kept(const LoadRequest& request) const;
  /// Returns the bytes that the agent of this node holds for the job.
  [[nodiscard]] std::int64_t held_bytes() const { return memory_ ? memory_->held_bytes() : 0; }

  /// Checks that the checkpoint belongs to this model, before anything is built. Errors:
  /// Error{config} with a list of tensors, as require_tensors().
  void require_model(const TrainConfig& config) const;

  using Say = std::function<void(const std::string&)>;
  /// Fills the trainer's states and sets its step. A source of which pieces are broken on any rank
  /// is replaced: by the other copy of a kept share, then by an older kept step or checkpoint.
  /// `request` is as it was given, without the overrides of kept(). `say` receives lines for the
  /// user. Collective. Errors: Error{config} if the checkpoint belongs to another model (with
  /// tensors), the ranks found different ones, none can be read, or an older one needs other
  /// overrides than the one with which the job began.
  Began load(Trainer& trainer, StartVote& vote, const LoadRequest& request, const Say& say);

 private:
  [[nodiscard]] LoadWhat what() const;
  /// Finds the next place. `why_not`: the problem of the checkpoint returned before, or empty.
  void find(const std::string& why_not);
  void find_on_disk(const std::string& why_not, bool has_other);
  void take(const KeptStep& kept);
  /// Fills this rank's states from the place found. `broken`: as KeptMemory::report_broken().
  void fill(Trainer& trainer, SaveOutcome& outcome, int& broken);
  /// Replaces a place that could not be read. Collective.
  void replace(const SaveOutcome& outcome, int broken, const Say& say);
  /// `why`: the problem of the place before. Errors: see load().
  void require_settings(const std::vector<std::string>& chosen, const LoadRequest& request,
                        std::string_view why) const;
  void end_memory();
  void tell(const Began& began, const Trainer& trainer, const Say& say) const;

  ResumeSearch search_;
  std::unique_ptr<KeptMemory> memory_;  // null: memory is not searched
  std::int64_t newest_on_disk_ = -1;
  bool in_memory_ = false;
  std::uint64_t kept_epoch_ = 0;  // in which the step in memory was kept
  int world_size_ = 1;
  bool is_restart_ = false;  // an earlier epoch of the job may have made steps
  std::optional<Error> disk_error_;  // why there is no checkpoint, while a step in memory was there
  std::optional<Resumed> on_disk_;  // the next checkpoint, opened and not used yet
  Resumed found_;
};

/// Returns the newest step of a complete checkpoint in `checkpoint.dir` by its name; -1: none, or
/// the folder cannot be read.
std::int64_t newest_saved_step(const CheckpointConfig& config);

}  // namespace ds
