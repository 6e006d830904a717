// The files of ~/.ssh and /etc/ssh: read once, known_hosts appended to.
#pragma once

#include <optional>
#include <string>

#include "launcher/transport/known_hosts.h"
#include "launcher/transport/ssh_config.h"

namespace ds::launcher {

/// The whole file, or nothing if it cannot be opened.
std::optional<std::string> read_text_file(const std::string& path);

/// Name, home folder and environment of the user at this machine.
LocalUser local_user();

/// Reads the config files named by `config_file` (empty: the user's and the system's).
/// Errors:  Error{config}.
SshConfig read_ssh_config(const std::string& config_file, const LocalUser& local);

/// Appends a key in one write under a lock, making folder and file if need be.
/// Errors:  the returned text says what went wrong; empty if all is well.
std::string remember_host_key(const SshSettings& settings, const HostKey& key);

}  // namespace ds::launcher
