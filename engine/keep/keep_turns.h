// KeepTurns: which of two slots a keep writes, and what the joined control words say of it. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace ds {

/// The keeps of one run, the same on every rank. Keeps are numbered from 1. The slot with the
/// newest committed step is written only after a newer step has been committed in the other one.
class KeepTurns {
 public:
  /// After so many failed keeps in a row nothing is kept any more.
  static constexpr int kMostFailures = 3;

  struct UnderWay {
    std::int64_t number = 0, step = 0;
    int slot = 0;
  };
  enum class Verdict : std::uint8_t { none, committed, failed };

  /// Begins a keep; none may be under way.
  const UnderWay& begin(std::int64_t step) {
    under_way_ = {.number = ++number_, .step = step, .slot = next_};
    return *under_way_;
  }
  /// Ends the keep under way if all ranks have it (`kept`: the newest that all have), or if one
  /// could not keep it (`failed`: the newest of any rank).
  Verdict decide(std::int64_t kept, std::int64_t failed) {
    if (!under_way_) return Verdict::none;
    if (failed >= under_way_->number) {
      under_way_.reset();
      ++failures_;
      return Verdict::failed;
    }
    if (kept < under_way_->number) return Verdict::none;
    step_ = under_way_->step;
    next_ = 1 - under_way_->slot;
    failures_ = 0;
    under_way_.reset();
    return Verdict::committed;
  }

  [[nodiscard]] const std::optional<UnderWay>& under_way() const { return under_way_; }
  /// Returns the newest keep, under way or not.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Returns the newest committed step; -1: none.
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// Returns the slot that the next keep writes.
  [[nodiscard]] int next_slot() const { return next_; }
  /// Returns whether nothing is kept any more.
  [[nodiscard]] bool has_given_up() const { return failures_ >= kMostFailures; }

 private:
  std::optional<UnderWay> under_way_;
  std::int64_t number_ = 0, step_ = -1;
  int next_ = 0;
  int failures_ = 0;  // since the last committed keep
};

}  // namespace ds
