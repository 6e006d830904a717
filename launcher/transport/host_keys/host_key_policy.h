// What to do about a host's key, and what to tell people. Pure.
#pragma once

#include <string>

#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct HostKeyDecision {
  bool accept = false;
  bool remember = false;  // append the key to the user's known_hosts
  std::string text;  // why it is refused, or a warning that goes with the acceptance; may be empty
};

/// Errors:  none; a refusal is a value. `text` is one line that names host, fingerprint and the way
/// out.
HostKeyDecision judge_host_key(const SshSettings& settings, const HostKey& key,
                               const HostKeyVerdict& verdict);

/// For a host with authorities in known_hosts (at `places`) that has shown a plain key.
/// `supported`: certificates could have been asked for.
std::string no_certificate_text(const std::vector<TextPlace>& places, bool supported);

/// The name a host's keys are filed under: HostKeyAlias, else the name dialled.
const std::string& host_key_name(const SshSettings& settings);
/// The port that goes with it: an alias stands for the host whatever its port, as for ssh.
int host_key_port(const SshSettings& settings);

}  // namespace ds::launcher
