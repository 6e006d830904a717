// Request of a job, built from the options. Independent of how nodes are reached.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/commands/start/detach.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// Job in the background.
struct Background {
  std::uint64_t job_id;
  std::string log_file;
  const Detached& terminal;
};

/// Returns the complete request except for the routes and the start timeout. `background`: null for
/// a job that stays at its terminal.
/// Errors:  Error{config} for several ranks of a program that is linked with an MPI library.
/// Errors:  Error{config}: several ranks of a program that is linked with an MPI library.
JobRequest job_request(const Options& options, PlacedJob placed, std::vector<Program> programs,
                       JobEnvironment environment, const Background* background);

/// Calls `run` in this process, or in a background process with --detach.
int run_at_terminal(const Options& options, const std::function<int(const Background*)>& run);

}  // namespace ds::launcher
