// The text of `dslaunch --help` and `--version`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

/// What a newcomer needs: forms, examples, the common options, the subcommands.
std::string help_text(std::span<const Command> commands);
/// The same with every option.
std::string full_help_text(std::span<const Command> commands);
std::string_view version_text();

/// The options that help_text shows, by their first names.
std::span<const std::string_view> common_options();

}  // namespace ds::launcher
