// Plans which keys are tried on a host, and in which order.
#pragma once

#include <string>
#include <vector>

#include "launcher/transport/ssh/agent_relay.h"
#include "launcher/transport/ssh/ssh_link.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct SshIdentityPlan {
  std::vector<SshIdentity> identities;
  std::string note;  // which keys cannot be tried, and why
};

bool holds_key(const AgentRelay& agent, const std::string& public_base64);

/// Puts configured files first (a server hangs up after 6 keys, and an agent may hold more), then
/// the agent's keys, then the default files. The identity with the label `last_good` moves to the
/// front, because the hosts of a cluster usually accept the same key. `agent` may be null. With
/// IdentitiesOnly the agent offers only keys of the configured files. `can_ask`: pass phrases could
/// be asked for. Keys that are still encrypted are left out, with a note.
SshIdentityPlan plan_identities(const SshSettings& settings, SshKeyring& keyring, AgentRelay* agent,
                                const std::string& last_good, bool can_ask);

}  // namespace ds::launcher
