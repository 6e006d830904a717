// NewsOfRank: what one rank has told on its channel, until it is due for the root: at most two
// frames of bounded size in kPeriod, whatever the rank sends. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/rank_message.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

class NewsOfRank {
 public:
  static constexpr std::chrono::milliseconds kPeriod{200};
  /// Phases and lines that wait. Of more, the oldest are dropped.
  static constexpr std::size_t kMaxWaiting = 16;

  explicit NewsOfRank(std::int32_t rank) { news_.rank = rank; }

  void add(const StepDone& done) {
    news_.step = done.step;
    news_.steps = done.steps;
    news_.micros = done.micros;
    news_.kept = done.kept;
    has_step_ = true;
  }
  void add(const PhaseBegun& phase, Clock::time_point now) {
    push(news_.phases, {phase.name, clock_value(now)});
  }
  void add(const CheckpointTold& told) { push(news_.checkpoints, told.line); }
  void add(const FactsTold& told) {
    news_.facts = told.line;
    has_lines_ = true;
  }

  /// Returns when take() has news; max: not before the rank tells more. Steps do not delay phases
  /// and lines: a client that waits for a checkpoint learns of it at once.
  [[nodiscard]] Clock::time_point due() const {
    return std::min(has_step_ ? next_step_ : Clock::time_point::max(),
                    has_lines_ ? next_lines_ : Clock::time_point::max());
  }
  /// Makes the news due at once.
  void hurry() { next_step_ = next_lines_ = {}; }
  /// Returns the news if they are due.
  std::optional<RankNews> take(Clock::time_point now) {
    if (now < due()) return std::nullopt;
    RankNews told = news_;
    news_.phases.clear();
    news_.checkpoints.clear();
    news_.facts.clear();
    if (has_lines_) next_lines_ = now + kPeriod;
    next_step_ = now + kPeriod;
    has_step_ = has_lines_ = false;
    return told;
  }

 private:
  template <class T>
  void push(std::vector<T>& list, T item) {
    if (list.size() == kMaxWaiting) list.erase(list.begin());
    list.push_back(std::move(item));
    has_lines_ = true;
  }

  RankNews news_;
  bool has_step_ = false;   // news_ has a step that was not told
  bool has_lines_ = false;  // or phases or lines
  Clock::time_point next_step_{};
  Clock::time_point next_lines_{};
};

}  // namespace ds::launcher
