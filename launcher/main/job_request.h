// What the options say becomes the request of a job; nothing here knows how nodes are reached.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/spares.h"
#include "launcher/job/job.h"
#include "launcher/main/detach.h"

namespace ds::launcher {

/// A job that leaves the terminal.
struct Background {
  std::uint64_t job_id;
  std::string log_file;
  const Detached& terminal;
};

/// All but the routes, and how long nodes may take to start. `background`: null for a job that
/// stays at its terminal.
JobRequest job_request(const Options& options, PlacedJob placed, std::vector<Program> programs,
                       JobEnvironment environment, const Background* background);

/// Calls `run` here, or in a process that leaves the terminal if --detach says so.
int run_at_terminal(const Options& options, const std::function<int(const Background*)>& run);

}  // namespace ds::launcher
