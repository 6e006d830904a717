// Reads limit and OOM kills of the memory cgroup of this process, version 1 or 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ds::launcher {

class MemoryCgroup {
 public:
  MemoryCgroup() = default;
  /// Finds the cgroup of this process. Tests put `root` before /proc and /sys.
  static MemoryCgroup find(const std::string& root = "");

  /// Returns how many of its processes the OOM killer has killed, for the limit of the cgroup or of
  /// the machine. Empty if the kernel does not say.
  [[nodiscard]] std::optional<std::uint64_t> kills() const;
  /// Returns the smallest limit of this cgroup and those above it, in bytes; empty: none.
  [[nodiscard]] std::optional<std::uint64_t> limit() const;

 private:
  std::string events_;  // memory.events or memory.oom_control
  std::string top_;     // folder of the hierarchy
  std::string folder_;  // folder of the cgroup
  const char* limit_file_ = "";
};

}  // namespace ds::launcher
