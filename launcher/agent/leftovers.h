// Finds and kills what jobs whose agents did not end well have left on this node.
#pragma once

#include <cstdint>
#include <string>

namespace ds::launcher {

/// Kills processes that carry the cookie of a dead agent, with all below them, until none is found
/// or 3 s have passed. Only agents that `base` (agent_folders_of_user) names, and whose folder
/// nobody holds, count as dead. Costs one system call if there are none. Returns the number of
/// processes killed. A process below a running link is left to that link. Stopped links of a dead
/// agent are killed.
std::uint32_t sweep_after_dead_agents(const std::string& base);

/// Does the same for all dead agents of one job, also those without a folder, and for its stopped
/// agents: guard, agent, shims and ranks of a node that were all stopped are found stopped in two
/// looks, 0.5 s apart, and killed. Running agents of the job are left alone.
std::uint32_t sweep_job(const std::string& base, const std::string& job);

}  // namespace ds::launcher
