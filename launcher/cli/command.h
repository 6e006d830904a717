// A subcommand: what runs, and what the help, the man page and the completion say of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

struct Command {
  std::string_view name;
  std::string_view summary;            // one line; empty: not for people
  int (*run)(int argc, char** argv);   // argv[0] is the name; returns the exit code
  std::string_view synopsis{};         // what may follow the name: "JOB [options]"
  std::string_view details{};          // lines of at most 100 columns
  OptionTable (*options)() = nullptr;  // to be shown, not to be read with
  // Where more may be given than is shown, as others describe it: to be completed.
  OptionTable (*all_options)() = nullptr;
};

/// Reads the words of a subcommand by `table`, to which --help is added. When help is asked for, it
/// is printed and nothing is returned.   Errors: as OptionTable::read.
std::optional<std::vector<std::string>> read_command(const Command& command, OptionTable table,
                                                     int argc, char** argv, Words words);

std::string command_help(const Command& command);

/// Writes to standard output.   Errors:  Error{system}.   Returns 0.
int print(std::string_view text);

}  // namespace ds::launcher
