// Which keys are tried on a host, and in which order.
#pragma once

#include <string>
#include <vector>

#include "launcher/transport/ssh/agent_relay.h"
#include "launcher/transport/ssh/ssh_link.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct SshIdentityPlan {
  std::vector<SshIdentity> identities;
  std::string note;  // keys that cannot be tried, and why
};

bool holds_key(const AgentRelay& agent, const std::string& public_base64);

/// Configured files first (a server hangs up after six keys, and an agent may hold more), then the
/// agent's keys, then the default files; `last_good` moves the identity of that label to the front,
/// since a cluster usually takes one key. `agent` may be null. With IdentitiesOnly the agent offers
/// only keys of the configured files. `can_ask`: somebody could be asked for pass phrases; keys
/// that are encrypted still are left out, with a note why.
SshIdentityPlan plan_identities(const SshSettings& settings, SshKeyring& keyring, AgentRelay* agent,
                                const std::string& last_good, bool can_ask);

}  // namespace ds::launcher
