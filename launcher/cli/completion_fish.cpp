// Completion script for fish: one `complete` line for each option.
#include <fmt/format.h>

#include "launcher/cli/completion_parts.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

/// Returns the arguments of `complete` for the candidates; empty for files and free text.
std::string fish_words(const ValueKind& value) {
  switch (value.kind) {
    case Kind::folder:
      return " -a '(__fish_complete_directories)'";
    case Kind::job:
      return " -a '(dslaunch ps --ids 2>/dev/null)'";
    case Kind::choice:
      return fmt::format(" -a '{}'", fmt::join(value.choices, " "));
    default:
      return {};
  }
}

std::string fish_options(const OptionTable& table, std::string_view condition) {
  std::string text;
  for (const OptionTable::Entry& entry : table.entries()) {
    text += fmt::format("complete -c dslaunch -n '{}'", condition);
    for (const std::string_view name : split_names(entry.shape.names))
      text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                     : fmt::format(" -s {}", name.substr(1));
    const ValueKind value = value_kind(entry.shape);
    if (value.kind == Kind::file) text += " -F";
    if (!entry.shape.implied.empty()) {
      // An optional value is always joined by "=".
    } else if (value.kind == Kind::file) {
      text += " -r";
    } else if (value.kind != Kind::none) {
      text += " -x" + fish_words(value);
    }
    text += fmt::format(" -d '{}'\n", quoted_help(entry.shape));
  }
  return text;
}

}  // namespace

std::string fish_script(std::span<const Command> commands) {
  Options options;
  std::string names, text;
  for (const Command& command : commands) {
    if (command.summary.empty()) continue;
    names += " " + std::string(command.name);
    const std::string inside = fmt::format("__dslaunch_is {}", command.name);
    text += fmt::format("complete -c dslaunch -n __dslaunch_first -f -a {} -d '{}'\n", command.name,
                        quoted_text(command.summary));
    const ValueKind words = word_kind(command, commands);
    if (words.kind != Kind::file)
      text += fmt::format("complete -c dslaunch -n '{}' -f{}\n", inside, fish_words(words));
    text += fish_options(options_of(command), inside);
  }
  text += fish_options(option_table(options), "__dslaunch_is_job");
  return fmt::format(R"sh(# Completion of dslaunch for fish: dslaunch completion fish | source
function __dslaunch_is
  set -l words (commandline -opc)
  test (count $words) -gt 1; and test "$words[2]" = "$argv[1]"
end
function __dslaunch_first
  test (count (commandline -opc)) -eq 1
end
function __dslaunch_is_job
  set -l words (commandline -opc)
  not contains -- -- $words; and not contains -- "$words[2]"{}
end
{})sh",
                     names, text);
}

}  // namespace ds::launcher
