// Completion for fish: a line for each option.
#include <fmt/format.h>

#include "launcher/cli/completion_parts.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

std::string fish_options(const OptionTable& table, std::string_view condition) {
  std::string text;
  for (const OptionTable::Entry& entry : table.entries()) {
    text += fmt::format("complete -c dslaunch -n '{}'", condition);
    for (const std::string_view name : split_names(entry.shape.names))
      text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                     : fmt::format(" -s {}", name.substr(1));
    const ValueKind value = value_kind(entry.shape);
    if (value.kind == Kind::file) text += " -r -F";
    if (value.kind == Kind::folder) text += " -x -a '(__fish_complete_directories)'";
    if (value.kind == Kind::job) text += " -x -a '(dslaunch ps --ids 2>/dev/null)'";
    if (value.kind == Kind::choice)
      text += fmt::format(" -x -a '{}'", fmt::join(value.choices, " "));
    if (value.kind == Kind::other && entry.shape.implied.empty()) text += " -x";
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
                        command.summary);
    if (takes_job(command))
      text += fmt::format("complete -c dslaunch -n '{}' -f -a '(dslaunch ps --ids 2>/dev/null)'\n",
                          inside);
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
