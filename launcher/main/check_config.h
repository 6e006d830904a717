// The configuration of a training job is checked here, before any host is reached for it.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/options_reach.h"
#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// Runs `dsrunner --check` with the words of `command` (dsrunner, train.toml, overrides) in
/// `folder`, as rank 0 of the placement; if that rank is not to run `here` but on another machine,
/// whose data and memory this one cannot know, only what the configuration itself says is checked.
/// Its words go to standard error. Without a dsrunner here nothing is checked.
/// Returns its exit code.   Errors:  Error{system} when it cannot be started.
int check_config(const std::vector<std::string>& command, const std::string& folder,
                 const Placement& placement, bool here);

/// Whether a host is this machine, for the transport that was chosen.
bool runs_here(const Host& host, TransportChoice transport);

}  // namespace ds::launcher
