// Shows a job's output on this process's standard output and error.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "launcher/jobs/find_job.h"

namespace ds::launcher {

struct FollowOptions {
  std::size_t lines = 10;  // of what the job has kept
  int rank = -1;           // -1: all
  bool follow = false;     // until the job ends
  /// Called several times a second while the job is followed; false ends it.
  std::function<bool(LiveJob&)> go_on;
};

/// The exit code of the job, if it was followed to its end.
/// Errors:  Error{usage} for a rank that the job does not have; Error{unreachable}.
std::optional<int> follow(LiveJob& job, const FollowOptions& options);

}  // namespace ds::launcher
