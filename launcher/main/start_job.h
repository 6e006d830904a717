// Options and a placement -> a running job: which transport reaches which node.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/spares.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// Runs the job, `programs` by group, and returns dslaunch's exit code.
/// Errors:  Error{config} for a broken ssh configuration, Error{system}; trouble with nodes is in
/// the exit code.
int start_job(const Options& options, PlacedJob placed, std::vector<Program> programs,
              JobEnvironment environment);

}  // namespace ds::launcher
