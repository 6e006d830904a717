// Table of the subcommands, and those that print text from tables of options: help, man,
// completion.
#include "launcher/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/nearest_word.h"
#include "launcher/cli/completion.h"
#include "launcher/cli/man_page.h"
#include "launcher/cli/option_table.h"

namespace ds::launcher {
namespace {

const Command kCommands[] = {
    kExecCommand,    kCopyCommand,      kRcopyCommand,     kDoctorCommand,    kPlanCommand,      kInspectCommand, kExportCommand,
    kSampleCommand,  kEvalCommand,      kDataCommand,      kConvertCommand, kAverageCommand,
    kReportCommand,  kK8sCommand,       kPsCommand,        kTailCommand,    kAttachCommand,
    kCheckpointCommand, kScaleCommand,   kKillCommand,   kAsCommand,        kHelpCommand,    kManCommand,
    kCompletionCommand,
    kCopyNodeCommand,  kNodeFactsCommand, kAgentCommand,
};

int run_help(int argc, char** argv) {
  const auto words = read_command(kHelpCommand, OptionTable(), argc, argv);
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
  const auto words = read_command(kManCommand, table_of(kManOptions, options), argc, argv);
  if (!words) return 0;
  if (!words->empty()) usage_error("dslaunch man takes no arguments");
  const std::string text = manual(commands());
  return print(options.markdown ? text : roff_of(text));
}

int run_completion(int argc, char** argv) {
  const auto words = read_command(kCompletionCommand, OptionTable(), argc, argv);
  if (!words) return 0;
  if (words->size() != 1)
    usage_error("no shell is given",
                fmt::format("usage: dslaunch completion {}", fmt::join(kCompletionShells, "|")));
  return print(completion_script(words->front(), commands()));
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view word) {
  const auto* found = std::ranges::find(kCommands, word, &Command::name);
  return found == std::end(kCommands) ? nullptr : found;
}

std::string near_command(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
      {"list", "ps"},   {"status", "ps"},   {"jobs", "ps"},     {"logs", "tail"},
      {"stop", "kill"}, {"cancel", "kill"}, {"manifest", "k8s"}};
  for (const auto& [other, name] : kOtherWords)
    if (word == other) return std::string(name);
  std::vector<std::string_view> known;
  for (const Command& command : kCommands)
    if (!command.summary.empty()) known.push_back(command.name);
  return nearest_word(word, known);
}

constinit const Command kHelpCommand = {
    .name = "help",
    .summary = "Print the help of dslaunch or of a subcommand",
    .run = run_help,
    .synopsis = "[SUBCOMMAND]",
};

constinit const Command kManCommand = {
    .name = "man",
    .summary = "Print the manual page",
    .run = run_man,
    .synopsis = "[--markdown]",
    .details = "To view it: dslaunch man | man -l -",
    .options = shown_table<kManOptions>,
};

constinit const Command kCompletionCommand = {
    .name = "completion",
    .summary = "Print the script for shell completion of options and jobs",
    .run = run_completion,
    .synopsis = "bash|zsh|fish",
    .details =
        "bash, in ~/.bashrc:                   source <(dslaunch completion bash)\n"
        "zsh, in ~/.zshrc, after compinit:     source <(dslaunch completion zsh)\n"
        "fish, in ~/.config/fish/config.fish:  dslaunch completion fish | source",
};

}  // namespace ds::launcher
