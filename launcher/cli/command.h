// Subcommands: their functions and texts for help, man page and completion; the help of dslaunch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

/// --help of every subcommand.
inline constexpr OptionShape kHelpShape = {"--help,-h", "", "Print this help"};

struct Command {
  std::string_view name;
  std::string_view summary;            // one line; empty hides the subcommand from help
  int (*run)(int argc, char** argv);   // argv[0] is the name; returns the exit code
  std::string_view synopsis{};         // arguments after the name: "JOB [options]"
  std::string_view details{};          // lines of at most 100 columns
  OptionTable (*options)() = nullptr;  // for help only; not bound to any values
  // The complete table for completion, where `options` shows only a part of it.
  OptionTable (*all_options)() = nullptr;
};

/// Parses the arguments of a subcommand with `table` plus --help. Returns the positional words.
/// Prints the help and returns nothing when --help is given.   Errors: as OptionTable::read.
std::optional<std::vector<std::string>> read_command(const Command& command, OptionTable table,
                                                     int argc, char** argv,
                                                     Words words = Words::mixed);

/// Returns the help text of `command`: usage, details and options.
std::string command_help(const Command& command);

/// Returns the short help: forms, examples, the common options and the subcommands.
std::string help_text(std::span<const Command> commands);
/// Returns the help with every option.
std::string full_help_text(std::span<const Command> commands);
std::string_view version_text();

/// Returns the first names of the options that help_text shows.
std::span<const std::string_view> common_options();

/// Writes `text` to standard output and returns 0.   Errors:  Error{system}.
int print(std::string_view text);

}  // namespace ds::launcher
