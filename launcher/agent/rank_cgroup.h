// One cgroup (version 2) per rank, so that KILL reaches all its processes at once, setuid programs
// too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/cookie.h"

namespace ds::launcher {

class RankCgroup {
 public:
  RankCgroup() = default;
  RankCgroup(std::string path, UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  RankCgroup(RankCgroup&&) = default;
  RankCgroup& operator=(RankCgroup&&) = default;
  /// Removes the cgroup if it is empty.
  ~RankCgroup() { remove(); }

  /// Returns a descriptor of its folder, for clone3; -1: there is no cgroup.
  [[nodiscard]] int folder() const { return folder_.get(); }
  void kill() const;
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
  std::vector<pid_t> clear(const std::function<bool(const Cookie&)>& wanted) const;

 private:
  std::string path_;
};

}  // namespace ds::launcher
