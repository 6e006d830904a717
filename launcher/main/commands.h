// The subcommands: the words that may stand right after `dslaunch`.
#pragma once

#include <span>
#include <string_view>

namespace ds::launcher {

struct Command {
  std::string_view name;
  std::string_view summary;           // one line for the help; empty: not for people
  int (*run)(int argc, char** argv);  // argv[0] is the name; returns the exit code
};

std::span<const Command> commands();
/// Nothing when `word` names none.
const Command* find_command(std::string_view word);

}  // namespace ds::launcher
