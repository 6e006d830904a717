// NewsOfRank: what one rank has told on its channel, until it is due for the root: at most one
// frame of bounded size in kPeriod, whatever the rank sends. Pure.
#pragma once

#include <optional>

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
    fresh_ = true;
  }
  void add(const PhaseBegun& phase, Clock::time_point now) {
    push(news_.phases, {phase.name, clock_value(now)});
  }
  void add(const CheckpointTold& told) { push(news_.checkpoints, told.line); }

  /// Returns when take() has news; max: not before the rank tells more.
  [[nodiscard]] Clock::time_point due() const { return fresh_ ? next_ : Clock::time_point::max(); }
  /// Makes the news due at once.
  void hurry() { next_ = {}; }
  /// Returns the news if they are due.
  std::optional<RankNews> take(Clock::time_point now) {
    if (!fresh_ || now < next_) return std::nullopt;
    RankNews told = news_;
    news_.phases.clear();
    news_.checkpoints.clear();
    fresh_ = false;
    next_ = now + kPeriod;
    return told;
  }

 private:
  template <class T>
  void push(std::vector<T>& list, T item) {
    if (list.size() == kMaxWaiting) list.erase(list.begin());
    list.push_back(std::move(item));
    fresh_ = true;
  }

  RankNews news_;
  bool fresh_ = false;
  Clock::time_point next_{};  // no frame before
};

}  // namespace ds::launcher
