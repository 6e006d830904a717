// Output of a running job, copied to this process's standard output and error.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "launcher/commands/jobs/find_job.h"

namespace ds::launcher {

struct FollowOptions {
  std::size_t lines = 10;  // maximum number of kept lines to show first
  int rank = -1;           // -1: all ranks
  bool follow = false;     // continue until the job ends
  /// Called several times a second while following; returning false stops it.
  std::function<bool(LiveJob&)> go_on;
};

/// Shows the output. Returns the job's exit code if it was followed to its end.
/// Errors:  Error{usage} if the job does not have the rank; Error{unreachable}.
std::optional<int> follow(LiveJob& job, const FollowOptions& options);

}  // namespace ds::launcher
