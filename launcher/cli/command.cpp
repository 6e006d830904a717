// Argument parser and help text of one subcommand.
#include "launcher/cli/command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

constexpr OptionDef<bool> kHelpOption[] = {
    {{"--help,-h", "", "Print this help"}, [](bool& asked, const GivenOption&) { asked = true; }},
};

/// Replaces "dslaunch --help" in the error's hint by the subcommand's own help.
Error with_help_of(const Command& command, const Error& error) {
  constexpr std::string_view kHelp = "dslaunch --help";
  std::string hint = error.hint();
  if (const std::size_t at = hint.find(kHelp); at != std::string::npos)
    hint.replace(at, kHelp.size(), fmt::format("dslaunch {} --help", command.name));
  return {error.kind(), error.what(), std::move(hint)};
}

}  // namespace

std::optional<std::vector<std::string>> read_command(const Command& command, OptionTable table,
                                                     int argc, char** argv, Words words) {
  bool asked = false;
  table.add("Options", std::span<const OptionDef<bool>>(kHelpOption), asked);
  std::vector<std::string> rest;
  try {
    rest = table.read({argv + 1, argv + argc}, words);
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

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw_errno("cannot write to standard output", errno);
  return 0;
}

}  // namespace ds::launcher
