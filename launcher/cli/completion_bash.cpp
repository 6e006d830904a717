// Completion for bash: one function with a case for each subcommand.
#include <fmt/format.h>

#include "launcher/cli/completion_parts.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

using Kind = ValueKind::Kind;

namespace {

/// case labels of the options whose value is of a kind.
std::string bash_values(const OptionTable& table) {
  std::string text;
  for (const OptionTable::Entry& entry : table.entries()) {
    const ValueKind value = value_kind(entry.shape);
    std::string reply;
    if (value.kind == Kind::file) reply = "compgen -f -- \"$cur\"";
    if (value.kind == Kind::folder) reply = "compgen -d -- \"$cur\"";
    if (value.kind == Kind::job)
      reply = "compgen -W \"$(dslaunch ps --ids 2>/dev/null)\" -- \"$cur\"";
    if (value.kind == Kind::choice)
      reply = fmt::format("compgen -W '{}' -- \"$cur\"", fmt::join(value.choices, " "));
    if (value.kind == Kind::other) reply = "true";
    if (reply.empty() || !entry.shape.implied.empty()) continue;
    text += fmt::format("        {}) mapfile -t COMPREPLY < <({}); return ;;\n",
                        fmt::join(split_names(entry.shape.names), "|"), reply);
  }
  return text;
}

std::string bash_case(std::string_view label, const OptionTable& table, std::string_view words) {
  return fmt::format(
      "    {})\n"
      "      case $prev in\n{}"
      "      esac\n"
      "      if [[ $cur == -* ]]; then words='{}'; else {}; fi ;;\n",
      label, bash_values(table), fmt::join(table.names(), " "), words);
}

}  // namespace

std::string bash_script(std::span<const Command> commands) {
  Options options;
  std::string names, cases;
  for (const Command& command : commands) {
    if (command.summary.empty()) continue;
    names += (names.empty() ? "" : " ") + std::string(command.name);
    cases += bash_case(command.name, options_of(command),
                       takes_job(command) ? "words=$(dslaunch ps --ids 2>/dev/null)" : "files=1");
  }
  cases +=
      bash_case("*", option_table(options), "files=1; ((COMP_CWORD == 1)) && words=$subcommands");
  return fmt::format(R"sh(# Completion of dslaunch for bash: source <(dslaunch completion bash)
_dslaunch() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words= files= i
  local subcommands='{}'
  COMPREPLY=()
  # --name=value comes as three words.
  [[ $cur != = ]] || cur=
  if [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  if [[ -z $cur && ${{COMP_WORDS[COMP_CWORD]}} == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-1]}}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
      return
    fi
  done
  case ${{COMP_WORDS[1]}} in
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; [[ -z $files ]] || compgen -f -- "$cur")
}}
complete -o filenames -F _dslaunch dslaunch
)sh",
                     names, cases);
}

}  // namespace ds::launcher
