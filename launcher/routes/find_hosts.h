// Options -> the hosts of a job, in order, with known slots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"
#include "launcher/sources/node_sources.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// The list of hosts of an operator, a scheduler or another launcher, where the options name no
/// host. A rank of a job of ours has none, and neither has --transport local: what they start, they
/// start here.
/// Errors:  as find_node_list.
std::optional<NodeList> found_list(const Options& options);

/// Reads the hostfile, filters, and asks hosts with slots=auto what they have. Without any host in
/// the options it is found_list, of which `say` gets a line, or this machine.
/// Errors:  Error{config} for what is named and not there, Error{unreachable} for a host that had
///          to be asked.
std::vector<Host> find_hosts(const Options& options,
                             const std::function<void(const std::string&)>& say);

/// What the options ask of placement, program by program.
PlacementRequest placement_request(const Options& options);

/// The ranks that a host with slots=auto runs: one a GPU, or one a core.
int auto_slots(const Hello& hello);

}  // namespace ds::launcher
