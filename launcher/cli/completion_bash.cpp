// Completion script for bash: one function with a case for each subcommand.
#include <fmt/format.h>

#include "launcher/cli/completion_parts.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

/// Returns the shell command that prints the candidates; "true" if there are none.
std::string bash_reply(const ValueKind& value) {
  switch (value.kind) {
    case Kind::file:
      return "compgen -f -- \"$cur\"";
    case Kind::folder:
      return "compgen -d -- \"$cur\"";
    case Kind::job:
      return "compgen -W \"$(dslaunch ps --ids 2>/dev/null)\" -- \"$cur\"";
    case Kind::choice:
      return fmt::format("compgen -W '{}' -- \"$cur\"", fmt::join(value.choices, " "));
    case Kind::none:
    case Kind::other:
      break;
  }
  return "true";
}

/// Returns one case for each option with a value. The case matches "--name " and "--name=", or only
/// "--name=" if the value is optional.
std::string bash_values(const OptionTable& table) {
  std::string text;
  for (const OptionTable::Entry& entry : table.entries()) {
    const ValueKind value = value_kind(entry.shape);
    if (value.kind == Kind::none) continue;
    std::string labels;
    for (const std::string_view name : split_names(entry.shape.names)) {
      labels += fmt::format("{}={}", labels.empty() ? "" : "|", name);
      if (entry.shape.implied.empty()) labels += fmt::format("|{}", name);
    }
    text += fmt::format("        {}) mapfile -t COMPREPLY < <({}); return ;;\n", labels,
                        bash_reply(value));
  }
  return text;
}

/// `words` is the shell command that prints the candidates for a positional word.
std::string bash_case(std::string_view label, const OptionTable& table, std::string_view words) {
  return fmt::format(
      "    {})\n"
      "      case $joined$prev in\n{}"
      "      esac\n"
      "      if [[ $cur == -* ]]; then options='{}'\n"
      "      else mapfile -t COMPREPLY < <({}); fi ;;\n",
      label, bash_values(table), fmt::join(table.names(), " "), words);
}

}  // namespace

std::string bash_script(std::span<const Command> commands) {
  Options options;
  std::string names, cases;
  for (const Command& command : commands) {
    if (command.summary.empty()) continue;
    names += (names.empty() ? "" : " ") + std::string(command.name);
    cases += bash_case(command.name, options_of(command), bash_reply(word_kind(command, commands)));
  }
  cases += bash_case("*", option_table(options),
                     "((COMP_CWORD > 1)) || compgen -W \"$subcommands\" -- \"$cur\"; "
                     "compgen -f -- \"$cur\"");
  return fmt::format(R"sh(# Completion of dslaunch for bash: source <(dslaunch completion bash)
_dslaunch() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} joined= options= i
  local subcommands='{}'
  COMPREPLY=()
  # --name=value comes as three words.
  if [[ $cur == = ]]; then cur= joined==; fi
  if [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}} joined==; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
      return
    fi
  done
  case ${{COMP_WORDS[1]}} in
{}  esac
  [[ -z $options ]] || mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}}
complete -o filenames -F _dslaunch dslaunch
)sh",
                     names, cases);
}

}  // namespace ds::launcher
