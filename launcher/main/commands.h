// The subcommands: the words that may stand right after `dslaunch`.
#pragma once

#include <span>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

std::span<const Command> commands();
/// Nothing when `word` names none.
const Command* find_command(std::string_view word);

}  // namespace ds::launcher
