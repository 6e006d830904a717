// Runs the commands of Match exec and asks for pass phrases, before the event loop runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "launcher/transport/ssh/ssh_exchange.h"
#include "launcher/transport/ssh/ssh_identities.h"

namespace ds::launcher {

namespace {

constexpr int kTries = 3;  // as ssh

}  // namespace

void SshExchange::prepare(std::span<const Host> hosts) {
  if (!options.ask && !config_.runs_commands()) return;
  for (const Host& host : hosts) {
    try {
      const SshRoute way = route(host);
      for (const SshSettings& jump : way.jumps) unlock_keys_of(jump);
      unlock_keys_of(way.target);
    } catch (const Error&) {
      continue;  // the reason is shown when the host is dialed
    }
  }
}

/// Asks for pass phrases of configured keys unless the agent holds them, and of default keys only
/// if there is no other key.
void SshExchange::unlock_keys_of(const SshSettings& settings) {
  if (!options.ask || !settings.public_keys || settings.batch_mode) return;
  std::vector<std::string> locked;
  bool others = false;
  for (const std::string& path : settings.identity_files) {
    const auto& [state, base64, problem] = keyring->load(path);
    others = others || state == SshKeyring::State::ready;
    if (state == SshKeyring::State::encrypted && problem.empty() && !asked_.contains(path))
      locked.push_back(path);
  }
  if (locked.empty()) return;
  const AgentRelay* relay = agent(settings.identity_agent);
  others = others || (relay != nullptr && !settings.identities_only && !relay->keys().empty());
  if (others && !settings.identities_configured) return;
  for (const std::string& path : locked)
    if (relay == nullptr || !holds_key(*relay, keyring->load(path).public_base64)) unlock_key(path);
}

void SshExchange::unlock_key(const std::string& path) {
  asked_.insert(path);
  std::string prompt = fmt::format("Enter passphrase for key '{}': ", path);
  for (int tries = 0; tries < kTries; ++tries) {
    std::optional<std::string> phrase = options.ask(prompt);
    if (!phrase || phrase->empty()) return;
    const bool good = keyring->unlock(path, *phrase);
    ::explicit_bzero(phrase->data(), phrase->size());
    if (good) return;
    prompt = fmt::format("Bad passphrase, try again for key '{}': ", path);
  }
}

}  // namespace ds::launcher
