// Keys for an ssh transport: asks for their pass phrases, and orders those to try on a host.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "launcher/transport/host_keys/wire_reader.h"
#include "launcher/transport/ssh/ssh_exchange.h"

namespace ds::launcher {

namespace {

using State = SshKeyring::State;
constexpr int kTries = 3;  // of a pass phrase, as ssh

void add_note(std::string& note, const std::string& text) {
  note += (note.empty() ? "" : "; ") + text;
}

/// Adds the agent's keys as one identity, without those that are in a file.
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
  plan.identities.push_back(
      {.label = fmt::format("{} key{} of the agent", keys.size(), keys.size() == 1 ? "" : "s"),
       .agent_socket = [&agent, keys] { return agent.open_session(keys); }});
}

/// Adds a key, after each of its certificates: IDENTITY-cert.pub, as ssh-keygen names it, and those
/// of CertificateFile.
void add_with_certificates(SshIdentityPlan& plan, const SshSettings& settings, SshKeyring& keyring,
                           const std::string& key) {
  std::vector<std::string> paths = settings.certificate_files;
  if (std::ranges::find(paths, key + "-cert.pub") == paths.end())
    paths.push_back(key + "-cert.pub");
  for (const std::string& path : paths) {
    const SshKeyring::Status& status = keyring.load_certificate(key, path);
    if (status.state != State::ready) continue;
    plan.identities.push_back({.label = path, .path = key, .certificate = path});
    if (!status.problem.empty()) add_note(plan.note, path + ": " + status.problem);
  }
  plan.identities.push_back({.label = key, .path = key});
}

/// Notes the certificates of CertificateFile that belong to none of the keys.
void note_certificates(SshIdentityPlan& plan, const SshSettings& settings, SshKeyring& keyring) {
  for (const std::string& path : settings.certificate_files) {
    std::string problem = " is not used: its key is in no file that can be used";
    for (const std::string& key : settings.identity_files) {
      const SshKeyring::Status& status = keyring.load_certificate(key, path);
      if (keyring.load(key).state != State::ready) continue;
      if (status.state == State::ready) problem.clear();
      if (status.state == State::missing) problem = " does not exist";
      if (status.state == State::unusable) problem = " is not used: " + status.problem;
      if (status.state != State::other_key) break;
    }
    if (!problem.empty()) add_note(plan.note, path + problem);
  }
}

bool holds_key(const AgentRelay& agent, const std::string& public_base64) {
  return std::ranges::any_of(
      agent.keys(), [&](const AgentKey& key) { return base64_encode(key.blob) == public_base64; });
}

}  // namespace

/// Asks for pass phrases of configured keys unless the agent holds them, and of default keys only
/// if there is no other key.
void SshExchange::unlock_keys_of(const SshSettings& settings) {
  if (!options.ask || !settings.public_keys || settings.batch_mode) return;
  std::vector<std::string> locked;
  bool others = false;
  for (const std::string& path : settings.identity_files) {
    const auto& [state, base64, problem] = keyring.load(path);
    others = others || state == State::ready;
    if (state == State::encrypted && problem.empty() && !asked_.contains(path))
      locked.push_back(path);
  }
  if (locked.empty()) return;
  const AgentRelay* relay = agent(settings.identity_agent);
  others = others || (relay != nullptr && !settings.identities_only && !relay->keys().empty());
  if (others && !settings.identities_configured) return;
  for (const std::string& path : locked)
    if (relay == nullptr || !holds_key(*relay, keyring.load(path).public_base64)) unlock_key(path);
}

void SshExchange::unlock_key(const std::string& path) {
  asked_.insert(path);
  std::string prompt = fmt::format("Enter passphrase for key '{}': ", path);
  for (int tries = 0; tries < kTries; ++tries) {
    std::optional<std::string> phrase = options.ask(prompt);
    if (!phrase || phrase->empty()) return;
    const bool good = keyring.unlock(path, *phrase);
    ::explicit_bzero(phrase->data(), phrase->size());
    if (good) return;
    prompt = fmt::format("Bad passphrase, try again for key '{}': ", path);
  }
}

SshIdentityPlan SshExchange::plan_identities(const SshSettings& settings) {
  if (!settings.public_keys) return {{}, "PubkeyAuthentication is no"};
  AgentRelay* const agent = this->agent(settings.identity_agent);
  SshIdentityPlan plan;
  std::set<std::string> from_files;
  std::set<std::string> named;
  std::vector<std::string> locked;
  for (const std::string& path : settings.identity_files) {
    const SshKeyring::Status& status = keyring.load(path);
    if (!status.public_base64.empty()) named.insert(status.public_base64);
    if (status.state == State::ready) {
      from_files.insert(status.public_base64);
      add_with_certificates(plan, settings, keyring, path);
    }
    if (status.state == State::encrypted) locked.push_back(path);
    if (status.state == State::missing && settings.identities_configured)
      add_note(plan.note, path + " does not exist");
    if (status.state == State::unusable)
      add_note(plan.note, path + " is not used: " + status.problem);
  }
  const std::size_t files = plan.identities.size();
  if (agent != nullptr)
    add_agent(plan, *agent, from_files, settings.identities_only ? &named : nullptr);
  if (!settings.identities_configured && plan.identities.size() > files)
    std::rotate(plan.identities.begin(), plan.identities.end() - 1, plan.identities.end());
  for (const std::string& path : locked) {
    // The agent may hold it; the public halves are compared.
    const SshKeyring::Status& status = keyring.load(path);
    if (agent != nullptr && holds_key(*agent, status.public_base64)) continue;
    if (!status.problem.empty()) {
      add_note(plan.note, path + " " + status.problem);
      continue;
    }
    add_note(
        plan.note,
        fmt::format("{} is encrypted, and {}: `ssh-add` it to an agent", path,
                    settings.batch_mode ? "BatchMode is yes"
                    : options.ask       ? "its pass phrase was not given"
                                  : "nobody can be asked (no terminal, and no SSH_ASKPASS that may "
                                    "be used)"));
  }
  note_certificates(plan, settings, keyring);
  if (agent != nullptr && !agent->problem().empty()) add_note(plan.note, agent->problem());
  const auto good = std::ranges::find_if(
      plan.identities, [&](const SshIdentity& i) { return i.label == last_good_identity_; });
  if (good != plan.identities.end()) std::rotate(plan.identities.begin(), good, good + 1);
  return plan;
}

}  // namespace ds::launcher
