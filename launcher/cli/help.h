// Texts of `dslaunch --help` and `dslaunch --version`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

/// Returns the short help: forms, examples, the common options and the subcommands.
std::string help_text(std::span<const Command> commands);
/// Returns the help with every option.
std::string full_help_text(std::span<const Command> commands);
std::string_view version_text();

/// Returns the first names of the options that help_text shows.
std::span<const std::string_view> common_options();

}  // namespace ds::launcher
