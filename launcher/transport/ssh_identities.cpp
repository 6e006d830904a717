// The order of keys; each is named once, also if it is both in a file and in the agent.
#include "launcher/transport/ssh_identities.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "launcher/transport/base64.h"

namespace ds::launcher {

namespace {

void add_note(std::string& note, const std::string& text) {
  note += (note.empty() ? "" : "; ") + text;
}

/// The agent's keys as one identity, without those that a file already gives.
void add_agent(SshIdentityPlan& plan, AgentRelay& agent, const std::set<std::string>& from_files,
               const std::set<std::string>* allowed) {
  std::vector<AgentKey> keys;
  for (const AgentKey& key : agent.keys()) {
    const std::string public_key = base64_encode(key.blob);
    if (from_files.contains(public_key) || (allowed != nullptr && !allowed->contains(public_key)))
      continue;
    keys.push_back(key);
  }
  if (keys.empty()) return;
  std::string label =
      fmt::format("{} key{} of the agent", keys.size(), keys.size() == 1 ? "" : "s");
  plan.identities.push_back({SshIdentity::Kind::agent,
                             {},
                             [&agent, keys] { return agent.open_session(keys); },
                             std::move(label)});
}

}  // namespace

SshIdentityPlan plan_identities(const SshSettings& settings, SshKeyring& keyring, AgentRelay* agent,
                                const std::string& last_good) {
  SshIdentityPlan plan;
  std::set<std::string> from_files;
  std::set<std::string> named;
  std::vector<std::string> locked;
  for (const std::string& path : settings.identity_files) {
    const SshKeyring::Status& status = keyring.load(path);
    if (!status.public_base64.empty()) named.insert(status.public_base64);
    switch (status.state) {
      case SshKeyring::State::ready:
        from_files.insert(status.public_base64);
        plan.identities.push_back({SshIdentity::Kind::file, path, {}, path});
        break;
      case SshKeyring::State::missing:
        if (settings.identities_configured) add_note(plan.note, path + " does not exist");
        break;
      case SshKeyring::State::encrypted:
        locked.push_back(path);
        break;
      case SshKeyring::State::unusable:
        add_note(plan.note, path + " is not used: " + status.problem);
        break;
    }
  }
  const std::size_t files = plan.identities.size();
  if (agent != nullptr)
    add_agent(plan, *agent, from_files, settings.identities_only ? &named : nullptr);
  if (!settings.identities_configured && plan.identities.size() > files)
    std::rotate(plan.identities.begin(), plan.identities.end() - 1, plan.identities.end());
  for (const std::string& path : locked)
    add_note(plan.note,
             path + " is encrypted, and dslaunch asks for no passphrase: `ssh-add` it to an agent");
  if (agent != nullptr && !agent->problem().empty()) add_note(plan.note, agent->problem());
  const auto good = std::ranges::find_if(
      plan.identities, [&](const SshIdentity& i) { return i.label == last_good; });
  if (good != plan.identities.end()) std::rotate(plan.identities.begin(), good, good + 1);
  return plan;
}

}  // namespace ds::launcher
