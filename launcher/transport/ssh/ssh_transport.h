// Reaches nodes by ssh: settings, name, connection, host key, keys, remote command; a window of
// attempts at once.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/transport/ssh/ssh_link.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

struct SshOptions {
  std::string remote_command;    // one constant command; everything else travels on the channel
  std::string fallback_command;  // run on the same connection if that one fails before its answer
  /// The program for nodes where both find none; may be empty. Called once a run.
  std::function<std::optional<AgentCopy>()> copy{};
  std::string answer;  // what a command that works writes first, maybe after noise; empty: anything
  std::string config_file;  // empty: ~/.ssh/config, then /etc/ssh/ssh_config; else only this file,
                            // as `ssh -F`
  std::vector<std::string> known_hosts_files;  // instead of those of the config, if any
  std::chrono::milliseconds connect_limit{
      10000};  // looking up and connecting, unless ConnectTimeout says otherwise
  std::chrono::milliseconds dead_after{10000};  // a connection whose peer is silent so long is lost
  std::chrono::milliseconds agent_limit{3000};  // each answer of the ssh-agent
  SshStageLimits limits;
  int window = 64;  // hosts between start and running command at the same time
  // For connections that the server drops at once, as a full MaxStartups does at random.
  int max_attempts = 8;
  std::chrono::milliseconds retry_limit{20000};  // from the first; none begins to wait later
  int resolver_threads = 128;  // at most: names that no server answers hold them up to 30 s
  // Targets through one connection to a jump host: its sshd has a descriptor for each, of 1024.
  std::size_t jump_room = 500;
  std::function<void(const std::string&)> warn;  // each text once a run; may be empty
  /// Asks for a pass phrase with this prompt; empty if nobody can be asked.
  std::function<std::optional<std::string>(const std::string& prompt)> ask;
};

/// Threads: the io_context's only.
/// Errors:  Error{config} for a config file that is named and missing, or broken. Trouble with one
/// host is the
///          reason of its ChannelEnd.
std::unique_ptr<Transport> make_ssh_transport(asio::io_context& io, SshOptions options);

}  // namespace ds::launcher
