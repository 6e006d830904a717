// The files of ~/.ssh and /etc/ssh: read once, known_hosts appended to.
#pragma once

#include <optional>
#include <string>

#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

/// The whole file, or nothing if it cannot be opened.
std::optional<std::string> read_text_file(const std::string& path);

/// Name, home folder and environment of the user at this machine.
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
  std::string read;     // what the file holds beyond the size known, with the new line if written
  std::string problem;  // the file cannot be written
};

/// Appends a line under a lock, in one write, making folder and file if need be. A file that has
/// grown beyond `known_size` since it was read is read on instead, and nothing is written.
AppendedKey append_host_key(const std::string& path, const NewHostKey& line,
                            std::size_t known_size);

}  // namespace ds::launcher
