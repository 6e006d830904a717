// StepPhase and PhaseClock: what the thread that runs the training steps does or waits for.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "engine/base/deadline.h"
#include "engine/base/trace_buffer.h"

namespace ds {

/// Where the time of a step goes. Work that runs beside that of the thread counts only while the
/// thread waits for it. docs/metrics.md describes each phase.
enum class StepPhase : std::uint8_t {
  forward,
  backward,
  reduce,
  gather,
  update,
  offload,
  control,
  data,
  save,
  validation,
  other
};
inline constexpr std::size_t kStepPhases = 11;
inline constexpr std::array<std::string_view, kStepPhases> kStepPhaseNames{
    "forward", "backward", "reduce", "gather",     "update", "offload",
    "control", "data",     "save",   "validation", "other"};

/// Seconds by phase.
using PhaseSeconds = std::array<double, kStepPhases>;

inline double& of_phase(PhaseSeconds& seconds, StepPhase phase) {
  return seconds[static_cast<std::size_t>(phase)];
}
inline double of_phase(const PhaseSeconds& seconds, StepPhase phase) {
  return seconds[static_cast<std::size_t>(phase)];
}
inline double sum_of(const PhaseSeconds& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}
/// Returns the seconds in which a rank did not wait for other ranks: those outside communication.
/// The rank with most of them is the one that the others wait for.
inline double own_work(const PhaseSeconds& seconds) {
  return sum_of(seconds) - of_phase(seconds, StepPhase::reduce) -
         of_phase(seconds, StepPhase::gather) - of_phase(seconds, StepPhase::control);
}

/// One clock, always in exactly one phase, so that the phases add up to the time that has passed.
/// Entering the phase that is current reads no time. Threads: only the one that runs the steps.
class PhaseClock {
 public:
  void enter(StepPhase phase) {
    if (phase == now_) return;
    count();
    now_ = phase;
  }
  [[nodiscard]] StepPhase now() const { return now_; }
  /// Returns the seconds by phase since the last restart, up to now.
  [[nodiscard]] PhaseSeconds spent() {
    count();
    PhaseSeconds seconds{};
    for (std::size_t i = 0; i < kStepPhases; ++i) seconds[i] = seconds_of(spent_[i]);
    return seconds;
  }
  /// Starts to count from zero, in the current phase.
  void restart() {
    count();
    spent_ = {};
  }
  /// Also records the phases from now on into `trace`; null: no longer. Returns the time at which
  /// that begins or ends.
  Clock::time_point follow(TraceBuffer* trace) {
    count();
    trace_ = trace;
    return since_;
  }

 private:
  void count() {
    const Clock::time_point now = Clock::now();
    spent_[static_cast<std::size_t>(now_)] += now - since_;
    if (trace_ != nullptr)
      trace_->add({.kind = TraceSpan::Kind::phase,
                   .what = static_cast<std::int64_t>(now_),
                   .begin = since_,
                   .end = now});
    since_ = now;
  }

  StepPhase now_ = StepPhase::other;
  Clock::time_point since_ = Clock::now();
  std::array<Clock::duration, kStepPhases> spent_{};
  TraceBuffer* trace_ = nullptr;
};

/// Goes back to the phase before when its scope ends. A null clock is not touched.
class InPhase {
 public:
  explicit InPhase(PhaseClock* clock) : clock_(clock) {
    if (clock_ != nullptr) before_ = clock_->now();
  }
  /// Enters `phase` for the scope.
  InPhase(PhaseClock* clock, StepPhase phase) : InPhase(clock) {
    if (clock_ != nullptr) clock_->enter(phase);
  }
  ~InPhase() {
    if (clock_ != nullptr) clock_->enter(before_);
  }
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

 private:
  PhaseClock* clock_;
  StepPhase before_ = StepPhase::other;
};

}  // namespace ds
