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

namespace ds {

/// What a rank knows of itself and of its run.
struct KeepFacts {
  std::string run{};         // KeptShare::run
  std::uint64_t epoch = 0;
  std::string node{};        // the same for ranks of one node
  std::string folder{};      // for slots without a name in files; empty: in memory
  SaveFacts head{};          // of the manifest
};

/// Every rank creates one and makes the same calls. All calls but wish() are collective.
class Keeper {
 public:
  struct Hooks {
    std::function<void(const KeptFile&)> hand_in{};     // gives a new slot to the agent
    std::function<void()> drop_earlier{};               // an own step is committed
    std::function<void(const std::string&)> failed{};   // rank 0: why nothing is kept any more
  };

  /// `group` has all ranks and no other use. All references outlive the object. Errors: Error{comm}.
  Keeper(const TrainConfig& config, Trainer& trainer, Group& world, std::unique_ptr<Group> group,
         KeepFacts facts, Hooks hooks);
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
  /// Returns whether no keep uses the memory of the copy; with `wait` it returns when none does.
  bool copy_is_free(bool wait);
  /// Keeps the finished step while training waits. Returns whether it is committed.
  bool keep_now(std::int64_t step);

  /// Returns the newest step that all ranks keep; -1: none.
  [[nodiscard]] std::int64_t kept_step() const { return turns_.step(); }
  /// Returns what is kept where, for the user.
  [[nodiscard]] std::string line() const;

 private:
  struct Pair {
    std::optional<SlotMemory> own, ward;
  };

  void meet();
  [[nodiscard]] bool is_due(const StepReport& report) const;
  void begin(std::int64_t step);
  /// Waits for the keep under way and decides about it at once.
  void finish();
  void conclude(KeepTurns::Verdict verdict, const SaveOutcome& outcome);
  [[nodiscard]] SaveOutcome written();
  [[nodiscard]] SaveOutcome keep(const StateCopy& copy, const Manifest& head, int slot) noexcept;
  void open(std::optional<SlotMemory>& slot, const char* of, int number, std::int64_t bytes);
  void write_own(const StateCopy& copy, const Manifest& head, SlotMemory& slot);
  void exchange(Pair& pair, bool has_share, SaveOutcome& outcome) noexcept;

  const TrainConfig& config_;
  Trainer& trainer_;
  Group& world_;
  const std::unique_ptr<Group> group_;
  const KeepFacts facts_;
  const Hooks hooks_;
  KeepRoles roles_;
  bool has_pairs_ = false;  // any rank has a buddy
  std::int64_t own_bytes_ = 0, ward_bytes_ = 0;
  std::array<Pair, 2> pairs_;
  KeepTurns turns_;
  bool is_off_ = false;  // a rank could not keep a step
  bool due_ = false, beside_ = false;  // beside_: the keep under way reads the snapshot
  std::vector<SavedTile> tiles_;
  double stall_s_ = 0;
  // Of rank 0:
  KeepPace pace_;
  Clock::time_point began_, last_wish_{};
  std::atomic<bool> cancel_{false};
  SaveTask task_;  // last member, so that it ends before what it uses
};

}  // namespace ds
