// Start of a placed job: from options and a placement to a running job.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// Runs the job, with `programs` by group, and returns dslaunch's exit code.
/// Errors:  Error{config} for an invalid ssh configuration, Error{system}. Failures of nodes appear
///          in the exit code.
int start_job(const Options& options, PlacedJob placed, std::vector<Program> programs,
              JobEnvironment environment);

}  // namespace ds::launcher
