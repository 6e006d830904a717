// What a job that trains tells about itself: its step, its checkpoints, the answer to a wish for
// one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checkpoint_line.h"

namespace ds::launcher {

/// "step  12/100  loss ..." -> 12.
std::optional<std::int64_t> step_of_line(std::string_view line);

/// Follows what rank 0 writes to standard output. Whoever wants a checkpoint gets the outcome of
/// the next one that was asked for; a wish that comes while one is being fulfilled joins it.
/// Memory:  at most kLongest bytes of a line.
class Training {
 public:
  static constexpr std::size_t kLongest = 8192;

  /// `folder`: where relative paths of the ranks begin.
  explicit Training(std::string folder) : folder_(std::move(folder)) {}

  /// What is to be done about a wish.
  struct News {
    bool signal = false;                      // rank 0 is to get SIGUSR1 now
    std::optional<CheckpointLine> outcome{};  // for those who wait
  };

  /// Somebody wants a checkpoint.
  News ask();
  /// Ranks begin, or begin again: until rank 0 has written something, signals would kill it.
  void begin();
  /// Rank 0 wrote this: parts of lines too.
  std::vector<News> add(std::string_view text);

  /// The last that was shown.
  [[nodiscard]] std::optional<std::int64_t> step() const { return step_; }
  /// The folder of the newest complete checkpoint that is known; empty: of none.
  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }

 private:
  News take(std::string_view line);

  std::string folder_;
  std::string line_;  // as far as it has come
  std::optional<std::int64_t> step_;
  std::string checkpoint_;
  bool hears_ = false;   // rank 0 has written something
  bool wanted_ = false;  // somebody waits
  bool sent_ = false;    // and rank 0 was told
};

}  // namespace ds::launcher
