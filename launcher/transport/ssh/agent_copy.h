// Copies this program to nodes that lack it: the shell command there, and the bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/transport/transport.h"

namespace ds::launcher {

/// Printed by the node's shell when it waits for the program.
inline constexpr std::string_view kCopyWish = "dslaunch-copy-wanted";

struct AgentCopy {
  std::string command;                 // for the node; see copy_agent_command()
  std::shared_ptr<const Bytes> bytes;  // for its standard input, once it has said kCopyWish
};

/// Returns a command that every login shell understands. It runs the copy called `name` below
/// ~/.cache/dslaunch (or $XDG_CACHE_HOME/dslaunch). If there is none, it prints kCopyWish, stores
/// `size` bytes of its standard input there and runs them. If that fails, or `uname -m` is not
/// `machine`, it prints the reason and exits with 127. Pure.
std::string copy_agent_command(std::string_view name, std::size_t size, std::string_view machine);

/// Reads the program of this process; returns nothing if it cannot be read.
std::optional<AgentCopy> copy_of_this_program();

}  // namespace ds::launcher
