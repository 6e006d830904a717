// The subcommands: the words that may stand right after `dslaunch`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

std::span<const Command> commands();
/// Nothing when `word` names none.
const Command* find_command(std::string_view word);
/// The name that may have been meant by a word that is none; empty: no name is near.
std::string near_command(std::string_view word);

}  // namespace ds::launcher
