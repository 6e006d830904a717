// This program on its way to nodes that have none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/transport/transport.h"

namespace ds::launcher {

/// What a node's shell prints when it waits for the program.
inline constexpr std::string_view kCopyWish = "dslaunch-copy-wanted";

struct AgentCopy {
  std::string command;                 // for the node; see copy_agent_command()
  std::shared_ptr<const Bytes> bytes;  // for its standard input, once it has said kCopyWish
};

/// A line that every login shell understands. It runs the copy below ~/.cache/dslaunch (or
/// $XDG_CACHE_HOME/dslaunch) if there is one of that name; else it says kCopyWish, keeps `size`
/// bytes of its standard input there and runs them. It exits 127 with the reason where that cannot
/// be, and where `uname -m` is not `machine`. Pure.
std::string copy_agent_command(std::string_view name, std::size_t size, std::string_view machine);

/// The program of this process; nothing if it cannot be read.
std::optional<AgentCopy> copy_of_this_program();

}  // namespace ds::launcher
