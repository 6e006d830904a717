// Cgroups of this node: limits and OOM kills of this process's own, and one cgroup for each rank.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/leftovers.h"

namespace ds::launcher {

/// The memory cgroup of this process, version 1 or 2.
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
  std::string path_;    // of the cgroup below it
  const char* limit_file_ = "";
};

/// A cgroup (version 2) of one rank, so that KILL reaches all its processes at once, setuid
/// programs too. Removed by the destructor if it is empty.
class RankCgroup {
 public:
  RankCgroup() = default;
  RankCgroup(std::string path, UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  RankCgroup(RankCgroup&&) = default;
  RankCgroup& operator=(RankCgroup&&) = default;
  ~RankCgroup() { remove(); }

  /// Returns a descriptor of its folder, for clone3; -1: there is no cgroup.
  [[nodiscard]] int folder() const { return folder_.get(); }
  void remove();

 private:
  std::string path_;
  UniqueFd folder_;
};

/// Kills everything in the cgroup of this folder; does nothing for -1.
void kill_cgroup(int folder);

/// The place where an agent may make cgroups: its own cgroup, if it is writable and has no limits.
/// Limits of a parent hold for its children, but programs read limits from their own cgroup and
/// would find none there.
class CgroupPlace {
 public:
  /// Finds the place for this process. Tests put `root` before /proc and /sys.
  static CgroupPlace find(const std::string& root = "");
  [[nodiscard]] const std::string& path() const { return path_; }  // empty: there is none

  /// Makes a cgroup; it has no folder if the system refuses.
  [[nodiscard]] RankCgroup make(const Cookie& cookie, std::uint32_t epoch, std::int32_t rank) const;
  /// Kills and removes the cgroups whose cookie `wanted` accepts. Returns the processes in them.
  /// Leaves a cgroup alone that has processes of a PID namespace that is not seen from here.
  std::vector<pid_t> clear(const std::function<bool(const Cookie&)>& wanted) const;

 private:
  std::string path_;
};

}  // namespace ds::launcher
