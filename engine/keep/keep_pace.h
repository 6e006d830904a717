// KeepPace: how often states are kept with elastic.every = "auto". Pure.
#pragma once

#include <array>
#include <cstddef>

namespace ds {

/// Measures what a keep costs training: how much longer the steps beside it take than the median of
/// the steps without one. Until there are such steps, the whole time of a keep counts.
class KeepPace {
 public:
  /// The part of the time that keeps may cost.
  static constexpr double kShare = 0.02;

  /// Adds a step; `keeping`: a keep was under way in it.
  void step(double seconds, bool keeping);
  /// Adds a keep that took `seconds` from its begin to its end, and for `stall` of them stopped
  /// training.
  void kept(double seconds, double stall);
  /// Returns the seconds from the begin of a keep to the begin of the next one.
  [[nodiscard]] double interval() const { return cost_ / kShare; }

 private:
  static constexpr std::size_t kSteps = 15, kEnough = 3;
  [[nodiscard]] double median() const;

  std::array<double, kSteps> quiet_{};  // a ring of the newest steps without a keep
  std::size_t count_ = 0;
  double extra_ = 0;  // of the steps beside this keep
  double cost_ = 0;   // of a keep
  bool is_first_ = true;
};

}  // namespace ds
