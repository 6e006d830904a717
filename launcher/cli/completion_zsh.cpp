// Completion script for zsh: specifications for _arguments.
#include <fmt/format.h>

#include "launcher/cli/completion_parts.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

/// Returns ":message:action" for the value, as _arguments reads it.
std::string zsh_action(const ValueKind& value) {
  switch (value.kind) {
    case Kind::none:
      return {};
    case Kind::file:
      return ":file:_files";
    case Kind::folder:
      return ":folder:_files -/";
    case Kind::job:
      return ":job:_dslaunch_jobs";
    case Kind::choice:
      return fmt::format(":value:({})", fmt::join(value.choices, " "));
    case Kind::other:
      return ":value: ";
  }
  return {};
}

std::string zsh_specs(const OptionTable& table) {
  std::string text;
  for (const OptionTable::Entry& entry : table.entries()) {
    const OptionShape& shape = entry.shape;
    for (const std::string_view name : split_names(shape.names)) {
      // "=-": the value must follow "="; "=": it may also be the next word.
      const bool is_long = name.starts_with("--");
      const std::string_view joint = shape.argument.empty()   ? ""
                                     : !shape.implied.empty() ? "=-"
                                     : is_long                ? "="
                                                              : "";
      text += fmt::format(" \\\n      '{}{}{}[{}]{}'", shape.repeatable ? "*" : "", name, joint,
                          quoted_help(shape), zsh_action(value_kind(shape)));
    }
  }
  return text;
}

}  // namespace

std::string zsh_script(std::span<const Command> commands) {
  Options options;
  std::string described, cases;
  for (const Command& command : commands) {
    if (command.summary.empty()) continue;
    described += fmt::format(" '{}:{}'", command.name, quoted_text(command.summary));
    const std::string words = zsh_action(word_kind(command, commands));
    cases += fmt::format("    {})\n      _arguments{}{} ;;\n", command.name,
                         zsh_specs(options_of(command)),
                         words.empty() ? "" : fmt::format(" \\\n      '*{}'", words));
  }
  return fmt::format(R"sh(#compdef dslaunch
# Completion of dslaunch for zsh: source <(dslaunch completion zsh), after compinit
_dslaunch_jobs() {{
  local -a jobs
  jobs=(${{(f)"$(dslaunch ps --ids 2>/dev/null)"}})
  compadd -a jobs
}}
_dslaunch_words() {{
  local -a subcommands
  subcommands=({})
  ((CURRENT != 2)) || _describe subcommand subcommands
  _files
}}
_dslaunch() {{
  local at=${{words[(i)--]}}
  if ((at < CURRENT)); then
    ((CURRENT -= at))
    shift $at words
    _normal
    return
  fi
  case ${{words[2]}} in
{}    *)
      _arguments{} \
      '*:word:_dslaunch_words' ;;
  esac
}}
compdef _dslaunch dslaunch
)sh",
                     described, cases, zsh_specs(option_table(options)));
}

}  // namespace ds::launcher
