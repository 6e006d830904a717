// Kinds of values, and the scripts: bash has a case for each subcommand, fish a `complete` line for
// each option, zsh specifications for _arguments.
#include "launcher/cli/completion.h"

#include <fmt/format.h>

#include "engine/base/split.h"
#include "launcher/cli/option_table.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

using Kind = ValueKind::Kind;

constexpr std::string_view kSignals = "TERM|INT|HUP|KILL|USR1|USR2|STOP|CONT|QUIT|ABRT|ALRM|WINCH";

/// Shell code for the candidates of a kind of value: a command of bash, arguments of fish's
/// `complete`, ":message:action" of zsh's _arguments. {} stands for the choices.
struct ShellCode {
  std::string_view bash, fish, zsh;
};
constexpr ShellCode kShellCode[] = {
    // in the order of the kinds
    {"true", "", ""},
    {R"(compgen -f -- "$cur")", "", ":file:_files"},
    {R"(compgen -d -- "$cur")", " -a '(__fish_complete_directories)'", ":folder:_files -/"},
    {R"sh(compgen -W "$(dslaunch ps --ids 2>/dev/null)" -- "$cur")sh",
     " -a '(dslaunch ps --ids 2>/dev/null)'", ":job:_dslaunch_jobs"},
    {R"(compgen -W '{}' -- "$cur")", " -a '{}'", ":value:({})"},
    {"true", "", ":value: "},
};

std::string code_of(std::string_view ShellCode::*shell, const ValueKind& value) {
  std::string text(kShellCode[static_cast<std::size_t>(value.kind)].*shell);
  if (const std::size_t at = text.find("{}"); at != std::string::npos)
    text.replace(at, 2, fmt::format("{}", fmt::join(value.choices, " ")));
  return text;
}

/// Returns the options of a subcommand, with --help added.
OptionTable options_of(const Command& command) {
  const auto options = command.all_options != nullptr ? command.all_options : command.options;
  OptionTable table = options == nullptr ? OptionTable() : options();
  table.add({"Options", kHelpShape, {}});
  return table;
}

/// Returns text for use inside single quotes of a shell.
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

std::string quoted_help(const OptionShape& shape) {
  return quoted_text(shape.help.substr(0, shape.help.find('\n')));
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
                        code_of(&ShellCode::bash, value));
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
      text += " -x" + code_of(&ShellCode::fish, value);
    }
    text += fmt::format(" -d '{}'\n", quoted_help(entry.shape));
  }
  return text;
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
                          quoted_help(shape), code_of(&ShellCode::zsh, value_kind(shape)));
    }
  }
  return text;
}

std::string bash_script(std::span<const Command> commands) {
  Options options;
  std::string names, cases;
  for (const Command& command : commands) {
    if (command.summary.empty()) continue;
    names += (names.empty() ? "" : " ") + std::string(command.name);
    cases += bash_case(command.name, options_of(command),
                       code_of(&ShellCode::bash, word_kind(command, commands)));
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
      text += fmt::format("complete -c dslaunch -n '{}' -f{}\n", inside,
                          code_of(&ShellCode::fish, words));
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

std::string zsh_script(std::span<const Command> commands) {
  Options options;
  std::string described, cases;
  for (const Command& command : commands) {
    if (command.summary.empty()) continue;
    described += fmt::format(" '{}:{}'", command.name, quoted_text(command.summary));
    const std::string words = code_of(&ShellCode::zsh, word_kind(command, commands));
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

}  // namespace

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
  const auto names = [&](std::string_view word) { return synopsis.find(word) != synopsis.npos; };
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
