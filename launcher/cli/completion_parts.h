// Helpers shared by the scripts of the three shells. Private to this folder.
#pragma once

#include <span>
#include <string>

#include "launcher/cli/completion.h"

namespace ds::launcher {

/// Returns the options of a subcommand, with --help added.
OptionTable options_of(const Command& command);
/// Return text for use inside single quotes of a shell: the first line of an option's help, or any
/// text.
std::string quoted_help(const OptionShape& shape);
std::string quoted_text(std::string_view text);

std::string bash_script(std::span<const Command> commands);
std::string zsh_script(std::span<const Command> commands);
std::string fish_script(std::span<const Command> commands);

}  // namespace ds::launcher
