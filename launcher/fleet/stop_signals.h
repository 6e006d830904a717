// Counts the signals that end a job: the first stops, the second kills, the third gives up.
// Pure.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// Several deliveries of one request count once: GNU timeout, srun and the kubelet signal a process
/// and then its group, and a terminal that closes sends HUP beside a scheduler's TERM.
class StopSignals {
 public:
  /// Two INT within this time are one key press.
  static constexpr std::chrono::milliseconds kSameKey{300};

  /// Returns whether HUP, INT or TERM is a new request. TERM and HUP within 2 s of one that
  /// counted repeat that request, and so does INT within 0.3 s of INT. `asked`: a client has
  /// requested it, which always counts.
  bool counts(int signo, Clock::time_point now, bool asked = false) {
    std::optional<Clock::time_point>& last = signo == SIGINT ? interrupted_at_ : terminated_at_;
    const auto same = signo == SIGINT ? kSameKey : std::chrono::milliseconds(2000);
    if (!asked && last && now < *last + same) return false;
    last = now;
    ++count_;
    return true;
  }
  /// Returns the number of requests so far.
  [[nodiscard]] int count() const { return count_; }

 private:
  std::optional<Clock::time_point> terminated_at_, interrupted_at_;
  int count_ = 0;
};

}  // namespace ds::launcher
