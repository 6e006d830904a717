// What this process does now, for the ranks that wait for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace ds {

/// Threads: any; one of them calls begin() and end(), the one whose work the others wait for.
class Activity {
 public:
  /// The path of an op. Does not allocate; what is longer than kLongest is cut.
  void begin(std::string_view what);
  /// Between programs: nothing that must progress is under way.
  void end() { begin({}); }
  /// Something was done that others may wait for.
  void tick() { progress_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }
  /// Empty between programs.
  [[nodiscard]] std::string doing() const;

 private:
  static constexpr std::size_t kLongest = 120;
  mutable std::mutex mutex_;
  std::array<char, kLongest> what_{};
  std::size_t length_ = 0;
  std::atomic<std::uint64_t> progress_ = 0;
};

}  // namespace ds
