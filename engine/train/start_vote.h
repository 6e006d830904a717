// StartVote: the parts of a start that may fail on one rank alone, and how all ranks learn of it.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "engine/train/save_outcome.h"

namespace ds {

/// Promise: the rank that failed reports its own error, and every other rank names that rank and
/// its error. No rank leaves before all know, so that nobody sees only a closed connection.
class StartVote {
 public:
  using Work = std::function<void(SaveOutcome&)>;

  /// `leaving` is set on a rank that failed before the others learn of it: from then on, their end
  /// must not keep this rank from reporting its error. It may be null.
  StartVote(Group& world, std::atomic<bool>* leaving) : world_(world), leaving_(leaving) {}

  /// Calls `work` on this rank and combines the outcomes of all ranks. `work` must not use the
  /// group after it may have failed on one rank. Collective. Errors: the error of `work`, on the
  /// ranks where it failed; Error{comm} on the others.
  SaveOutcome together(std::string_view about, const Work& work);
  /// Marks that this rank leaves with an error of its own.
  void leave() {
    if (leaving_ != nullptr) leaving_->store(true);
  }
  [[nodiscard]] Group& world() const { return world_; }

 private:
  Group& world_;
  std::atomic<bool>* const leaving_;
};

}  // namespace ds
