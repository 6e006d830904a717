// Activity: which op this process runs and how much progress it has made, for ranks that wait for
// it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace ds {

/// Threads: any. One thread, the one that runs the ops, calls begin() and end().
class Activity {
 public:
  /// Names the op that begins now by its path. Does not allocate; a path longer than kLongest is
  /// cut.
  void begin(std::string_view what);
  /// Marks that no program runs: this process owes no progress.
  void end() { begin({}); }
  /// Counts a unit of work that others may wait for.
  void tick() { progress_.fetch_add(1, std::memory_order_relaxed); }

  /// Adds `source` to progress(): a number that changes while an op computes, so that a long op
  /// counts as progress. An empty one adds nothing. `source` is called on any thread.
  void follow(std::function<std::uint64_t()> source);

  /// Returns a number that changes with the progress of this process.
  [[nodiscard]] std::uint64_t progress() const;
  /// Returns the path of the current op; empty between programs.
  [[nodiscard]] std::string doing() const;

 private:
  static constexpr std::size_t kLongest = 120;
  mutable std::mutex mutex_;
  std::array<char, kLongest> what_{};
  std::size_t length_ = 0;
  std::function<std::uint64_t()> source_;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace ds
