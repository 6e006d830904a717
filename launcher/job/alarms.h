// Alarms: what a job does, or no longer waits for, at a later time. Pure.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>

#include "engine/base/deadline.h"

namespace ds::launcher {

enum class Alarm {
  // Each of these needs a Tick when it is due.
  pre_signal,
  deadline,
  skew,         // the last rank ended well some time ago
  say_waiting,  // ranks or leftover processes have not ended
  say_missing,  // nodes are not ready
  invite,       // hosts that wait and became ready together are one change
  pause,        // the ranks have not ended their step
  stop,         // ranks that were expected to exit have not
  hold,         // states on hosts that have left are not needed any more
  // Each of these ends a wait for other events: afterwards the next event decides, not a Tick.
  restart,  // the next epoch may begin
  gather,   // hosts have not come
  sweep     // lost hosts have not answered again
};

class Alarms {
 public:
  /// Sets the time of the event that is being handled.
  void set_now(Clock::time_point now) { now_ = now; }
  void set(Alarm name, Clock::duration after) { at_[name] = now_ + after; }
  /// Returns whether the alarm was set.
  bool clear(Alarm name) { return at_.erase(name) > 0; }
  void clear_all_but(std::initializer_list<Alarm> kept) {
    std::erase_if(at_, [&](const auto& set) { return std::ranges::count(kept, set.first) == 0; });
  }
  /// Moves all alarms to a later time.
  void shift(Clock::duration pause) {
    for (auto& [name, at] : at_) at += pause;
  }
  [[nodiscard]] bool is_set(Alarm name) const { return at_.contains(name); }
  /// Returns the time until the alarm, negative after it; 0: it is not set.
  [[nodiscard]] Clock::duration left(Alarm name) const {
    return is_set(name) ? at_.at(name) - now_ : Clock::duration::zero();
  }
  [[nodiscard]] bool is_ahead(Alarm name) const { return left(name) > Clock::duration::zero(); }
  [[nodiscard]] bool is_over(Alarm name) const { return is_set(name) && !is_ahead(name); }
  /// Returns whether the alarm is over, and clears it then.
  bool fires(Alarm name) { return is_over(name) && clear(name); }
  /// Returns when a Tick is needed.
  [[nodiscard]] Clock::time_point next() const {
    Clock::time_point next = Clock::time_point::max();
    for (const auto& [name, at] : at_)
      if (name < Alarm::restart || at > now_) next = std::min(next, at);
    return next;
  }

 private:
  Clock::time_point now_{};
  std::map<Alarm, Clock::time_point> at_;  // those that are set
};

}  // namespace ds::launcher
