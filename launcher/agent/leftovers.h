// What jobs whose agents did not end well have left on this node: found by cookie, and killed.
#pragma once

#include <functional>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/agent/cookie.h"

namespace ds::launcher {

/// Kills every process whose cookie `wanted` accepts, whose agent no longer lives and that has no
/// living link of ours above it (one that has is that link's business), and all below it; again
/// until none is found. Returns how many processes it killed. Of other users only root sees any.
std::size_t kill_leftovers(const std::function<bool(const Cookie&)>& wanted, Deadline deadline);

/// Looks in `base` (agent_folders_of_user) for agents that did not end well; only if there are
/// any it looks through all processes. Costs one system call when there are none.
std::size_t sweep_after_dead_agents(const std::string& base, Deadline deadline);

}  // namespace ds::launcher
