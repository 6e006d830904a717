// Builds the commands that start an agent on another node: a program that is there, or a copy of
// this one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Begins the line by which the second command below names the program that it is about to run.
inline constexpr std::string_view kFoundMark = "dslaunch found: ";

/// Returns the first command to try: the path and one word, which every shell simply executes.
/// Empty for a path with characters that shells treat differently.
std::string direct_agent_command(std::string_view self_path);

/// Returns the command for nodes where the first one starts no agent. sh, bash, dash, csh, tcsh,
/// fish and zsh understand it alike. It runs this binary's own path on the node, else the dslaunch
/// on PATH, after a line with kFoundMark and the path. If there is neither, it prints so and exits
/// with 127.
std::string remote_agent_command(std::string_view self_path);

/// Printed by the node's shell when it waits for the program.
inline constexpr std::string_view kCopyRequest = "dslaunch-copy-wanted";

struct AgentCopy {
  std::string command;                 // for the node; see copy_agent_command()
  std::shared_ptr<const Bytes> bytes;  // for its standard input, once it has said kCopyRequest
};

/// Returns a command that every login shell understands. It runs the copy called `name` below
/// ~/.cache/dslaunch (or $XDG_CACHE_HOME/dslaunch). If there is none, it prints kCopyRequest,
/// stores `size` bytes of its standard input there and runs them. If that fails, or `uname -m` is
/// not `machine`, it prints the reason and exits with 127. Pure.
std::string copy_agent_command(std::string_view name, std::size_t size, std::string_view machine);

/// Reads the program of this process; returns nothing if it cannot be read.
std::optional<AgentCopy> copy_of_this_program();

}  // namespace ds::launcher
