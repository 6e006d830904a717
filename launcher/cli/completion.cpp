// What an option's argument means, and the choice of the shell.
#include "launcher/cli/completion.h"

#include <fmt/format.h>

#include "launcher/cli/completion_parts.h"
#include "launcher/cli/option_values.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

constexpr OptionDef<int> kHelpOption[] = {
    {{"--help,-h", "", "print the help"}, [](int&, const GivenOption&) {}},
};

}  // namespace

OptionTable options_of(const Command& command) {
  static int unused = 0;
  OptionTable table = command.options == nullptr ? OptionTable() : command.options();
  table.add("Options", std::span<const OptionDef<int>>(kHelpOption), unused);
  return table;
}

bool takes_job(const Command& command) { return command.synopsis.find("JOB") != std::string::npos; }

std::string quoted_help(const OptionShape& shape) {
  std::string text(shape.help.substr(0, shape.help.find('\n')));
  std::string safe;
  for (const char c : text)
    if (c == '\'') {
      safe += "'\\''";
    } else if (c == '[' || c == ']' || c == ':') {
      safe += ' ';  // zsh's own
    } else {
      safe += c;
    }
  return safe;
}

ValueKind value_kind(const OptionShape& shape) {
  const std::string_view argument = shape.argument;
  if (argument.empty()) return {};
  if (argument == "FILE" || argument == "PATH") return {Kind::file, {}};
  if (argument == "DIR") return {Kind::folder, {}};
  if (argument == "JOB") return {Kind::job, {}};
  if (argument.find('|') == std::string_view::npos) return {Kind::other, {}};
  ValueKind value{Kind::choice, {}};
  for (std::size_t at = 0; at <= argument.size();) {
    const std::size_t end = std::min(argument.find('|', at), argument.size());
    value.choices.push_back(argument.substr(at, end - at));
    at = end + 1;
  }
  return value;
}

std::string completion_script(std::string_view shell, std::span<const Command> commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  usage_error(fmt::format("there is no completion for '{}'", shell),
              fmt::format("one of: {}", fmt::join(kCompletionShells, ", ")));
}

}  // namespace ds::launcher
