// Subcommands: the table of words that may follow `dslaunch`, and lookup by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

/// Returns all subcommands, also those hidden from help.
std::span<const Command> commands();
/// Returns the subcommand named `word`, or null.
const Command* find_command(std::string_view word);
/// Returns the subcommand whose name is closest to the unknown word; empty if no name is close.
std::string near_command(std::string_view word);

}  // namespace ds::launcher
