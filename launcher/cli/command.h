// Subcommand: its function, and its texts for the help, the man page and shell completion.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

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
                                                     int argc, char** argv, Words words);

/// Returns the help text of `command`: usage, details and options.
std::string command_help(const Command& command);

/// Writes `text` to standard output and returns 0.   Errors:  Error{system}.
int print(std::string_view text);

}  // namespace ds::launcher
