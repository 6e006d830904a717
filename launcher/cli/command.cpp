// Argument parser of subcommands, and the help around the option tables: forms, examples, codes.
#include "launcher/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kSeeHelp = "see dslaunch --help";

/// Replaces "see dslaunch --help" in the error's hint by the subcommand's own help.
Error with_help_of(const Command& command, const Error& error) {
  std::string hint = error.hint();
  if (const std::size_t at = hint.find(kSeeHelp); at != std::string::npos)
    hint.replace(at, kSeeHelp.size(), fmt::format("see dslaunch {} --help", command.name));
  return {error.kind(), error.what(), std::move(hint)};
}

constexpr std::string_view kForms =
    R"(dslaunch: start a program on many machines, one process (rank) per slot.

Usage:
  dslaunch [options] -- COMMAND ARGS...           Run any program
  dslaunch [options] train.toml [key=value ...]   Train with the C++ engine
  dslaunch [options] -- COMMAND... : [-n N] [--role NAME] -- COMMAND...     Run several programs
  dslaunch SUBCOMMAND ...                         See below
)";

constexpr std::string_view kExamples = R"(
Examples:
  dslaunch -n 2 -- hostname                           Run two ranks on this machine
  dslaunch --hostfile hosts --dry-run -- ./train.sh   Print which rank would run where
  dslaunch --hostfile hosts -- ./train.sh --steps 9   Run one rank per slot of the hosts
  dslaunch --hostfile hosts --detach train.toml       Train in the background; see dslaunch ps
)";

constexpr std::string_view kExitCodes = R"(
Exit code: 0 if every rank exited with 0, otherwise the code of the first rank that failed, or
128 + its signal. 64 usage error, 65 invalid hostfile or config, 69 a node could not be reached or
was lost, 124 a deadline passed, 126 not executable, 127 not found, 130 and 143 interrupted.
)";

constexpr std::string_view kCommonOptions[] = {
    "--hostfile", "--host",   "-n",        "--dry-run", "--wdir",
    "-x",         "--show",   "--log-dir", "--grace",   "--max-restarts",
    "--timeout",  "--detach", "--version", "--help"};

std::string commands_help(std::span<const Command> commands) {
  std::string text = "\nSubcommands (each has its own --help):\n";
  for (const Command& command : commands)
    if (!command.summary.empty())
      text += fmt::format("  {:<23}  {}\n", command.name, command.summary);
  return text;
}

}  // namespace

std::optional<std::vector<std::string>> read_command(const Command& command, OptionTable table,
                                                     int argc, char** argv, Words words) {
  bool asked = false;
  table.add({"Options", kHelpShape, [&asked](const GivenOption&) { asked = true; }});
  std::vector<std::string> rest;
  try {
    // Only those that end their options at a command run a program with options of its own.
    rest = table.read({argv + 1, argv + argc}, words,
                      words == Words::command ? kHelpOrDashes : kSeeHelp);
  } catch (const Error& error) {
    throw with_help_of(command, error);
  }
  if (!asked) return rest;
  print(command_help(command));
  return std::nullopt;
}

std::string command_help(const Command& command) {
  std::string text =
      fmt::format("dslaunch {}: {}\n\nUsage: dslaunch {}{}{}\n", command.name, command.summary,
                  command.name, command.synopsis.empty() ? "" : " ", command.synopsis);
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  return command.options == nullptr ? text : text + command.options().help();
}

std::span<const std::string_view> common_options() { return kCommonOptions; }

std::string help_text(std::span<const Command> commands) {
  Options options;
  std::string text(kForms);
  text += kExamples;
  text += "\nCommon options:\n";
  const OptionTable table = option_table(options);
  for (const OptionTable::Entry& entry : table.entries()) {
    const std::string_view name = split_names(entry.shape.names).front();
    if (std::find(std::begin(kCommonOptions), std::end(kCommonOptions), name) !=
        std::end(kCommonOptions))
      text += option_help(entry.shape);
  }
  text += commands_help(commands);
  text += "\nAll options: dslaunch --help=all   The manual: dslaunch man | man -l -\n";
  return text + std::string(kExitCodes);
}

std::string full_help_text(std::span<const Command> commands) {
  Options options;
  return std::string(kForms) + option_table(options).help() + commands_help(commands) +
         std::string(kExitCodes);
}

std::string_view version_text() { return "dslaunch " DS_VERSION "\n"; }

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw_errno("cannot write to standard output", errno);
  return 0;
}

}  // namespace ds::launcher
