// Follows a training job by its output: step, checkpoints, outcomes of requested checkpoints.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checkpoint_line.h"

namespace ds::launcher {

/// Returns the step of a line: "step  12/100  loss ..." -> 12.
std::optional<std::int64_t> step_of_line(std::string_view line);

/// Follows standard output of rank 0. A request for a checkpoint gets the outcome of the next
/// requested one; a request during a pending one joins it.
/// Memory:  at most kLongest bytes of a line.
class Training {
 public:
  static constexpr std::size_t kLongest = 8192;

  /// `folder`: where relative paths of the ranks begin.
  explicit Training(std::string folder) : folder_(std::move(folder)) {}

  /// What the caller must do.
  struct News {
    bool signal = false;                      // send SIGUSR1 to rank 0 now
    std::optional<CheckpointLine> outcome{};  // for waiting requests
  };

  /// Requests a checkpoint.
  News ask();
  /// Starts an epoch: until rank 0 has written something, a signal would kill it.
  void begin();
  /// Takes output of rank 0, which may hold partial lines.
  std::vector<News> add(std::string_view text);

  /// Returns the last step that was shown.
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  /// Returns the folder of the newest known complete checkpoint; empty: none.
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }

 private:
  News take(std::string_view line);

  std::string folder_;
  std::string line_;  // received so far
  std::optional<std::int64_t> step_;
  std::string checkpoint_;
  bool hears_ = false;   // rank 0 has written something
  bool wanted_ = false;  // a request waits
  bool sent_ = false;    // and rank 0 was signaled
};

}  // namespace ds::launcher
