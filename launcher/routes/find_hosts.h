// Options -> the hosts of a job, in order, with known slots.
#pragma once

#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Reads the hostfile, filters, and asks hosts with slots=auto what they have. Without any host in
/// the options it is this machine.
/// Errors:  Error{config} for what is named and not there, Error{unreachable} for a host that had
///          to be asked.
std::vector<Host> find_hosts(const Options& options);

/// What the options ask of placement, program by program.
PlacementRequest placement_request(const Options& options);

/// The ranks that a host with slots=auto runs: one a GPU, or one a core.
int auto_slots(const Hello& hello);

}  // namespace ds::launcher
