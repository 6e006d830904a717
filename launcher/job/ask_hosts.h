// Queries the properties of hosts before ranks are placed on them.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <vector>

#include "launcher/fleet/agent_links.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Starts an agent on every host, returns its Hello and dismisses it. `routes` by host.
/// Order:   that of `hosts`.
/// Errors:  Error{unreachable} naming every host that did not answer, and why: at the latest once
///          no host has answered for `limit`.
std::vector<Hello> ask_hosts(asio::io_context& io, const std::vector<Host>& hosts,
                             const std::vector<NodeRoute>& routes, std::chrono::milliseconds limit);

}  // namespace ds::launcher
