// Reaches nodes by ssh, a limited number of hosts at once.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/transport/new_addresses.h"
#include "launcher/transport/ssh/ssh_link.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

struct SshOptions : SshCommand {
  std::string config_file;  // as `ssh -F`; empty: ~/.ssh/config, then /etc/ssh/ssh_config
  std::vector<std::string> known_hosts_files;      // instead of those of the config, if any
  std::chrono::milliseconds connect_limit{10000};  // lookup and connecting, without ConnectTimeout
  std::chrono::milliseconds dead_after{10000};     // silence after which a connection is lost
  std::chrono::milliseconds agent_limit{3000};     // each answer of the ssh-agent
  SshStageLimits limits;
  int window = 64;  // hosts between start and running command at once
  // For connections that the server drops at once, as it does at random beyond its MaxStartups.
  int max_attempts = 8;
  std::chrono::milliseconds retry_limit{20000};  // since the first attempt
  int resolver_threads = 128;  // at most; a name without an answer holds one for up to 30 s
  // Targets through one connection to a jump host, whose sshd needs a descriptor for each, of 1024.
  std::size_t jump_room = 500;
  std::shared_ptr<NewAddresses> moved;           // hosts with Host::found_by; may be null
  std::function<void(const std::string&)> warn;  // may be empty
  /// Asks for a pass phrase with this prompt; empty if nobody can be asked.
  std::function<std::optional<std::string>(const std::string& prompt)> ask;
};

/// Threads: the io_context's only.
/// Errors:  Error{config} for a config file that is broken, or named and missing. An error of one
/// host
///          is the reason of its ChannelEnd.
std::unique_ptr<Transport> make_ssh_transport(asio::io_context& io, SshOptions options);

}  // namespace ds::launcher
