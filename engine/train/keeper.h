// Keeper: keeps copies of the states in memory that outlives the ranks, on two nodes, beside the
// training (docs/decisions/0030-kept-states.md).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/rank_channel.h"
#include "engine/keep/keep_pace.h"
#include "engine/keep/keep_turns.h"
#include "engine/keep/share_exchange.h"
#include "engine/train/save_source.h"
#include "engine/train/save_task.h"
#include "engine/train/slot_copy.h"

namespace ds {

/// What a rank knows of itself and of its run.
struct KeepFacts {
  std::string run{};  // KeptShare::run
  std::uint64_t epoch = 0;
  std::string node{};    // the same for ranks of one node
  std::string folder{};  // for slots without a name in files; empty: in memory
  SaveFacts head{};      // of the manifest
};

/// Every rank creates one and makes the same calls. All calls but wish() are collective.
class Keeper {
 public:
  struct Hooks {
    /// Makes a group with all ranks and no other use: at the start, and after each failed keep.
    std::function<std::unique_ptr<Group>()> make_group{};
    /// Gives a new slot to the agent. Returns when the agent holds it, else throws Error.
    std::function<void(const KeptFile&)> hand_in{};
    std::function<void()> first_kept{};  // the first own step is committed
    /// On rank 0: why a step is not kept; `is_over`: nothing is kept any more.
    std::function<void(std::int64_t step, const std::string& why, bool is_over)> failed{};
  };

  /// All references outlive the object. Errors: Error{comm}.
  Keeper(const TrainConfig& config, Trainer& trainer, Group& world, KeepFacts facts, Hooks hooks);
  /// Leaves a keep that is under way incomplete.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Adds this rank's progress to its next control word.
  void wish(StepWishes& wishes);
  /// Begins to keep the states with which this run starts.
  void begin_first();
  /// Follows the keep under way. Called after every step, before any save.
  void follow(const StepReport& report);
  /// Begins a keep if one is due, unless `copy_is_needed` by a save.
  void begin_due(const StepReport& report, bool copy_is_needed);
  /// Keeps this step beside the training and returns its own share as the copy of a save. Null if
  /// nothing is kept, or as long as the slots are not in use. No keep may be under way.
  std::shared_ptr<SaveCopy> copy_for_save(std::int64_t step);
  /// Returns whether no keep uses the memory of the copy; with `wait` it returns when none does.
  bool copy_is_free(bool wait);
  /// Keeps the finished step while training waits. Returns whether it is committed.
  bool keep_now(std::int64_t step);
  /// Gives up the keep under way and keeps nothing any more. Does not wait for other ranks. A save
  /// that reads the share of that keep fails if it `is_given_up`, else the share is completed.
  void leave(bool is_given_up);

  /// Returns the newest step that all ranks keep; -1: none.
  [[nodiscard]] std::int64_t kept_step() const { return turns_.step(); }
  /// Returns what is kept where, for the user.
  [[nodiscard]] std::string line() const;

 private:
  struct Pair {
    std::shared_ptr<SlotMemory> own, ward;
  };

  void meet();
  [[nodiscard]] bool is_off() const { return has_left_ || turns_.has_given_up(); }
  [[nodiscard]] bool is_due(const StepReport& report) const;
  void begin(std::int64_t step, const std::shared_ptr<SlotCopy>& reader);
  const KeepTurns::UnderWay& begin_turn(std::int64_t step);
  /// Waits for the keep under way and decides about it at once. `is_lost`: a rank could not keep
  /// it, so this one need not go on.
  void finish(bool is_lost);
  void stop_task(bool needs_share);
  void conclude(KeepTurns::Verdict verdict, std::int64_t step, const SaveOutcome& outcome);
  [[nodiscard]] SaveOutcome written();
  [[nodiscard]] SaveOutcome keep(const StateCopy& copy, const Manifest& head, int slot,
                                 SlotCopy* reader) noexcept;
  void open(std::shared_ptr<SlotMemory>& slot, const char* of, int number, std::int64_t bytes);
  [[nodiscard]] ChunkPart write_own(const StateCopy& copy, const Manifest& head, SlotMemory& slot);
  void exchange(Pair& pair, bool has_share, SaveOutcome& outcome) noexcept;

  const TrainConfig& config_;
  Trainer& trainer_;
  Group& world_;
  const KeepFacts facts_;
  const Hooks hooks_;
  std::unique_ptr<Group> group_;
  std::string no_group_;  // why there is none
  KeepRoles roles_;
  bool has_pairs_ = false;  // any rank has a buddy
  std::int64_t own_bytes_ = 0, ward_bytes_ = 0;
  std::int64_t most_bytes_ = 0;  // of a share of any rank
  std::array<Pair, 2> pairs_;
  KeepTurns turns_;
  int kept_ = 0;                    // committed keeps
  std::weak_ptr<SlotCopy> reader_;  // of a save that has not written it yet
  bool has_left_ = false;
  bool due_ = false, beside_ = false;  // beside_: the keep under way reads the snapshot
  std::vector<SavedTile> tiles_;
  double stall_s_ = 0;
  // Of rank 0:
  KeepPace pace_;
  Clock::time_point began_, last_step_{};
  std::atomic<bool> cancel_{false};
  SaveTask task_;  // last member, so that it ends before what it uses
};

}  // namespace ds
