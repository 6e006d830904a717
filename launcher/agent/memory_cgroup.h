// The memory cgroup of this process, version 1 or 2: its limit, and what the kernel killed in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ds::launcher {

class MemoryCgroup {
 public:
  MemoryCgroup() = default;
  /// Of this process. `root` is put before /proc and /sys, for tests.
  static MemoryCgroup find(const std::string& root = "");

  /// How many of its processes the kernel has killed for want of memory; counts those that an
  /// exhausted machine costs too. Empty if it cannot be learnt.
  [[nodiscard]] std::optional<std::uint64_t> kills() const;
  /// The tightest limit from here to the top, in bytes; empty: none.
  [[nodiscard]] std::optional<std::uint64_t> limit() const;

 private:
  std::string events_;  // memory.events or memory.oom_control
  std::string top_;     // of the hierarchy
  std::string folder_;  // of the cgroup
  const char* limit_file_ = "";
};

}  // namespace ds::launcher
