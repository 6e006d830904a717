// A cgroup (version 2) of its own for each rank, so that KILL reaches all that it made at once,
// setuid programs too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

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
  /// Empty ones are removed, others stay: something still lives there.
  ~RankCgroup() { remove(); }

  /// Its folder, for clone3; -1: there is none.
  [[nodiscard]] int folder() const { return folder_.get(); }
  void kill() const;
  void remove();

 private:
  std::string path_;
  UniqueFd folder_;
};

/// KILL for everything in the cgroup of this folder; nothing for -1.
void kill_cgroup(int folder);

/// Where this node lets an agent make cgroups: below its own, if that is writable and has no limits
/// itself. Limits stay the parent's in any case, but programs look for them in their own cgroup,
/// and in one of ours they would find none.
class CgroupPlace {
 public:
  /// Of this process. `root` is put before /proc and /sys, for tests.
  static CgroupPlace find(const std::string& root = "");
  [[nodiscard]] const std::string& path() const { return path_; }  // empty: nowhere

  /// Without a folder if the system refuses.
  [[nodiscard]] RankCgroup make(const Cookie& cookie, std::uint32_t epoch, std::int32_t rank) const;
  /// Kills and removes what is left of the cgroups whose cookie `wanted` accepts. Returns how many
  /// processes were there.
  std::size_t clear(const std::function<bool(const Cookie&)>& wanted) const;

 private:
  std::string path_;
};

}  // namespace ds::launcher
