// Decides which host key algorithms are offered, whether a host's key is accepted, and what to say
// about it. Pure.
#pragma once

#include <string>

#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/host_warnings.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct HostKeyDecision {
  bool accept = false;
  bool remember = false;  // append the key to the user's known_hosts
  std::string text{};     // why it is refused; empty if it is accepted
  HostWarning warning{};  // goes with the acceptance; its texts may be empty
};

/// Decides by the verdict of known_hosts and StrictHostKeyChecking. A refusal's `text` is one line
/// with the fingerprint and what to do next.
HostKeyDecision judge_host_key(const SshSettings& settings, const HostKey& key,
                               const HostKeyVerdict& verdict);

/// Returns the note for a host that known_hosts names authorities for (at `places`) and that has
/// shown a key without a certificate.
std::string no_certificate_text(const std::vector<TextPlace>& places);

/// Returns the name of the host in known_hosts: HostKeyAlias, else the name dialed.
const std::string& host_key_name(const SshSettings& settings);
/// Returns the port that goes with it: with an alias always 22, as in ssh.
int host_key_port(const SshSettings& settings);

/// Returns the host key algorithms to offer to a server, a comma list without certificates: known
/// key types first. `wanted` is HostKeyAlgorithms of ssh_config. `certified` is the type of a key
/// that the host has a certificate for: it stands before all others, whatever `wanted` says of keys
/// without a certificate. Empty: the host has none.
std::string host_key_algorithms(const std::vector<std::string>& known_types,
                                const std::string& wanted = {}, std::string_view certified = {});

/// Returns the algorithms of host certificates to ask for, a comma list; empty if HostKeyAlgorithms
/// leaves all of them out.
std::string certificate_algorithms(const std::string& wanted);

/// Whether HostKeyAlgorithms, as `wanted` changes its default, lets a host show a key of this type
/// without a certificate.
bool takes_plain_key(const std::string& wanted, const std::string& type);

}  // namespace ds::launcher
