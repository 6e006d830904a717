// Asks hosts what they have before anything is placed on them.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/job/job.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Starts an agent on every host, takes its Hello and lets it go. `routes` by host.
/// Order:   that of `hosts`.
/// Errors:  Error{unreachable} naming every host that did not answer within `limit`, and why.
std::vector<Hello> probe_hosts(asio::io_context& io, const std::vector<Host>& hosts,
                               const std::vector<NodeRoute>& routes,
                               std::chrono::milliseconds limit);

}  // namespace ds::launcher
