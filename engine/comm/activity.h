// Activity: which op this process runs and how much progress it has made, for ranks that wait for
// it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
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

  [[nodiscard]] std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  /// Returns the path of the current op; empty between programs.
  [[nodiscard]] std::string doing() const;

 private:
  static constexpr std::size_t kLongest = 120;
  mutable std::mutex mutex_;
  std::array<char, kLongest> what_{};
  std::size_t length_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace ds
