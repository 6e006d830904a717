// Check of a training job's configuration on this machine, before any host is contacted.
#pragma once

#include "launcher/cli/options.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// Runs `dsrunner --check` as rank 0 of the placement. `program`: dsrunner, train.toml, overrides.
/// If that rank will not run `here`, only the configuration itself is checked: data and memory of
/// the other machine are not known. The output goes to standard error. Without a dsrunner here
/// nothing is checked. Returns its exit code.   Errors:  Error{system} if it cannot be started.
int check_config(const Program& program, const Placement& placement, bool here);

/// Returns whether a host is this machine under the chosen transport.
bool runs_here(const Host& host, TransportChoice transport);

}  // namespace ds::launcher
