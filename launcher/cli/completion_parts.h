// What the forms of the three shells share. Private to this folder.
#pragma once

#include <span>
#include <string>

#include "launcher/cli/completion.h"

namespace ds::launcher {

/// The options of a subcommand, --help among them.
OptionTable options_of(const Command& command);
/// For single quotes of a shell: the first line of the help, or any text.
std::string quoted_help(const OptionShape& shape);
std::string quoted_text(std::string_view text);

std::string bash_script(std::span<const Command> commands);
std::string zsh_script(std::span<const Command> commands);
std::string fish_script(std::span<const Command> commands);

}  // namespace ds::launcher
