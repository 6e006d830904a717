// What dsrunner's tools show and use while they work: a progress line, and a number of threads.
#pragma once

#include <cstdint>
#include <string>

namespace ds {

/// Draws one line on a terminal's standard error, again at most ten times a second, and removes it
/// at the end. Draws nothing elsewhere.
class ToolProgress {
 public:
  /// "verified": of bytes; with a unit, of a number of these: "made", "tokens".
  explicit ToolProgress(std::string verb, std::string unit = "");
  ~ToolProgress();
  ToolProgress(const ToolProgress&) = delete;
  ToolProgress& operator=(const ToolProgress&) = delete;
  void show(std::int64_t done, std::int64_t all);

 private:
  std::string verb_, unit_;
  bool is_terminal_;
  std::size_t shown_ = 0;  // columns
  std::int64_t last_ms_ = 0;
};

/// Returns how many threads read: the cores that this process may use, 16 at most.
int reading_threads();

}  // namespace ds
