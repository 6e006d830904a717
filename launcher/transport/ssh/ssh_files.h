// Reads the files of ~/.ssh and /etc/ssh, and appends to known_hosts.
#pragma once

#include <optional>
#include <string>

#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

/// Reads a whole file; returns nothing if it cannot be read.
std::optional<std::string> read_text_file(const std::string& path);

/// Returns name, home folder and environment of the local user.
LocalUser local_user();

/// Reads the config files named by `config_file` (empty: the user's and the system's).
/// Errors:  Error{config}.
SshConfig read_ssh_config(const std::string& config_file, const LocalUser& local);

/// A line for known_hosts.
struct NewHostKey {
  std::string name;
  int port = 22;
  HostKey key;
  bool hashed = false;
};
struct AppendedKey {
  bool written = false;
  std::string read;     // the bytes of the file beyond the known size, with the new line if written
  std::string problem;  // why the file cannot be written
};

/// Appends a line under a lock, in one write; creates folder and file if they do not exist. If the
/// file has grown beyond `known_size`, the new part is read instead and nothing is written.
AppendedKey append_host_key(const std::string& path, const NewHostKey& line,
                            std::size_t known_size);

}  // namespace ds::launcher
