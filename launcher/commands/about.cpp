// Subcommands that print text from the tables of options: help, man and completion.
#include <fmt/format.h>

#include "launcher/cli/completion.h"
#include "launcher/cli/man_page.h"
#include "launcher/cli/option_values.h"
#include "launcher/commands/commands.h"

namespace ds::launcher {
namespace {

int run_help(int argc, char** argv) {
  const auto words = read_command(kHelpCommand, OptionTable(), argc, argv, Words::mixed);
  if (!words) return 0;
  if (words->empty()) return print(help_text(commands()));
  const Command* command = words->size() == 1 ? find_command(words->front()) : nullptr;
  if (command == nullptr || command->summary.empty()) {
    const std::string near = near_command(words->front());
    usage_error(
        fmt::format("unknown subcommand '{}'", fmt::join(*words, " ")),
        near.empty() ? "see dslaunch help for a list" : fmt::format("did you mean {}?", near));
  }
  return print(command_help(*command));
}

struct ManOptions {
  bool markdown = false;
};

constexpr OptionDef<ManOptions> kManOptions[] = {
    {{"--markdown", "", "Print markdown, as in docs/dslaunch.1.md"},
     set_flag<&ManOptions::markdown>},
};

int run_man(int argc, char** argv) {
  ManOptions options;
  const auto words =
      read_command(kManCommand, table_of(kManOptions, options), argc, argv, Words::mixed);
  if (!words) return 0;
  if (!words->empty()) usage_error("dslaunch man takes no arguments");
  const std::string text = manual(commands());
  return print(options.markdown ? text : roff_of(text));
}

int run_completion(int argc, char** argv) {
  const auto words = read_command(kCompletionCommand, OptionTable(), argc, argv, Words::mixed);
  if (!words) return 0;
  if (words->size() != 1)
    usage_error("no shell is given",
                fmt::format("usage: dslaunch completion {}", fmt::join(kCompletionShells, "|")));
  return print(completion_script(words->front(), commands()));
}

}  // namespace

constinit const Command kHelpCommand = {
    .name = "help",
    .summary = "print the help of dslaunch or of a subcommand",
    .run = run_help,
    .synopsis = "[SUBCOMMAND]",
};

constinit const Command kManCommand = {
    .name = "man",
    .summary = "print the manual page",
    .run = run_man,
    .synopsis = "[--markdown]",
    .details = "To view it: dslaunch man | man -l -",
    .options = shown_table<kManOptions>,
};

constinit const Command kCompletionCommand = {
    .name = "completion",
    .summary = "print the script for shell completion of options and jobs",
    .run = run_completion,
    .synopsis = "bash|zsh|fish",
    .details =
        "bash, in ~/.bashrc:                   source <(dslaunch completion bash)\n"
        "zsh, in ~/.zshrc, after compinit:     source <(dslaunch completion zsh)\n"
        "fish, in ~/.config/fish/config.fish:  dslaunch completion fish | source",
};

}  // namespace ds::launcher
