// Shell completion: kinds of values, and the choice of the shell.
#include "launcher/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/split.h"
#include "launcher/cli/completion_parts.h"
#include "launcher/cli/option_values.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

constexpr OptionDef<int> kHelpOption[] = {
    {{"--help,-h", "", "Print this help"}, [](int&, const GivenOption&) {}},
};

constexpr std::string_view kSignals = "TERM|INT|HUP|KILL|USR1|USR2|STOP|CONT|QUIT|ABRT|ALRM|WINCH";

}  // namespace

OptionTable options_of(const Command& command) {
  static int unused = 0;
  const auto options = command.all_options != nullptr ? command.all_options : command.options;
  OptionTable table = options == nullptr ? OptionTable() : options();
  table.add("Options", std::span<const OptionDef<int>>(kHelpOption), unused);
  return table;
}

std::string quoted_help(const OptionShape& shape) {
  return quoted_text(shape.help.substr(0, shape.help.find('\n')));
}

std::string quoted_text(std::string_view text) {
  std::string safe;
  for (const char c : text)
    if (c == '\'') {
      safe += "'\\''";
    } else if (c == '[' || c == ']') {
      safe += ' ';  // zsh reads brackets as its own syntax
    } else {
      safe += c;
    }
  return safe;
}

ValueKind value_kind(const OptionShape& shape) {
  const std::string_view argument = shape.argument;
  if (argument.empty()) return {};
  if (argument == "FILE" || argument == "PATH") return {Kind::file, {}};
  if (argument == "DIR" || argument.ends_with("|PATH")) return {Kind::folder, {}};
  if (argument == "JOB") return {Kind::job, {}};
  if (argument == "SIGNAL") return {Kind::choice, split(kSignals, '|')};
  if (argument.find('|') == std::string_view::npos) return {Kind::other, {}};
  return {Kind::choice, split(argument, '|')};
}

ValueKind word_kind(const Command& command, std::span<const Command> commands) {
  const std::string_view synopsis = command.synopsis;
  const auto names = [synopsis](std::string_view word) {
    return synopsis.find(word) != std::string_view::npos;
  };
  if (names("JOB")) return {Kind::job, {}};
  const std::string_view first = synopsis.substr(0, synopsis.find(' '));
  if (first.find('|') != std::string_view::npos) return {Kind::choice, split(first, '|')};
  if (names("[SUBCOMMAND]")) {
    ValueKind value{Kind::choice, {}};
    for (const Command& other : commands)
      if (!other.summary.empty()) value.choices.push_back(other.name);
    return value;
  }
  return {names("COMMAND") ? Kind::file : Kind::none, {}};
}

std::string completion_script(std::string_view shell, std::span<const Command> commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  usage_error(fmt::format("no completion script for shell '{}'", shell),
              fmt::format("choose one of: {}", fmt::join(kCompletionShells, ", ")));
}

}  // namespace ds::launcher
