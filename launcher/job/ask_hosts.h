// Queries the properties of hosts before ranks are placed on them.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/fleet/agent_links.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct AskLimits {
  std::chrono::milliseconds start_timeout{};           // without an answer of any host
  std::optional<std::chrono::milliseconds> timeout{};  // for all answers
  int spares = 0;                                      // number of hosts that need not answer
  std::function<void(const std::string& line)> say;    // names missing and unusable hosts
};

/// Starts an agent on every host, returns its Hello and dismisses it. `routes` by host.
/// Order:   that of `hosts`; nothing for a host that did not answer and need not.
/// Errors:  Error{unreachable} naming every host that did not answer, and why; Error{deadline}
///          naming those that have not answered within `timeout`.
std::vector<std::optional<Hello>> ask_hosts(asio::io_context& io, const std::vector<Host>& hosts,
                                            const std::vector<NodeRoute>& routes,
                                            const AskLimits& limits);

}  // namespace ds::launcher
