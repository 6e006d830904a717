// Reads the files of ~/.ssh and /etc/ssh, appends to known_hosts, and finds the local user.
// Contains no rules.
#pragma once

#include <optional>
#include <string>

#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

/// Reads a whole file; returns nothing, and sets errno, if it cannot be read.
std::optional<std::string> read_text_file(const std::string& path);

std::optional<std::string> environment_value(const std::string& name);

/// Returns the shell of SHELL, by which ssh runs the commands of its configuration.
std::string user_shell();

/// Returns 20 random bytes for a hashed name in known_hosts.
/// Errors:  Error{system}.
std::string random_salt();

/// Returns name, home folder and environment of the local user.
LocalUser local_user();

/// Reads the config files named by `config_file` (empty: the user's and the system's).
/// Errors:  Error{config}.
SshConfig read_ssh_config(const std::string& config_file, const LocalUser& local);

struct AppendedKey {
  bool written = false;
  std::string read;     // the bytes of the file beyond the known size, with the new line if written
  std::string problem;  // why the file cannot be written
};

/// Appends a line under a lock, in one write; creates folder and file if they do not exist. If the
/// file has grown beyond `known_size`, the new part is read instead and nothing is written.
AppendedKey append_host_key(const std::string& path, const std::string& line,
                            std::size_t known_size);

}  // namespace ds::launcher
