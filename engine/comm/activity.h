// Activity: which op this process runs and how much progress it has made, for ranks that wait for
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace ds {

/// Threads: any. One thread, the one that runs the ops, calls begin() and end().
class Activity {
 public:
  Activity() { what_.reserve(kLongest); }  // so that begin() allocates nothing

  /// Names the op that begins now by its path; a path longer than kLongest is cut.
  void begin(std::string_view what) {
    {
      const std::lock_guard lock(mutex_);
      what_.assign(what.substr(0, kLongest));
    }
    tick();
  }
  /// Marks that no program runs: this process owes no progress.
  void end() { begin({}); }
  /// Counts a unit of work that others may wait for.
  void tick() { progress_.fetch_add(1, std::memory_order_relaxed); }

  /// Adds `source` to progress(): a number that changes while an op computes, so that a long op
  /// counts as progress. An empty one adds nothing. `source` is called on any thread.
  void follow(std::function<std::uint64_t()> source) {
    const std::lock_guard lock(mutex_);
    source_ = std::move(source);
  }

  /// Returns a number that changes with the progress of this process.
  [[nodiscard]] std::uint64_t progress() const {
    const std::lock_guard lock(mutex_);
    return progress_.load(std::memory_order_relaxed) + (source_ ? source_() : 0);
  }
  /// Returns the path of the current op; empty between programs.
  [[nodiscard]] std::string doing() const {
    const std::lock_guard lock(mutex_);
    return what_;
  }

 private:
  static constexpr std::size_t kLongest = 120;
  mutable std::mutex mutex_;
  std::string what_;
  std::function<std::uint64_t()> source_;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace ds
