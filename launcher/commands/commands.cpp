// Table of the subcommands, one row each.
#include "launcher/commands/commands.h"

#include <utility>
#include <vector>

#include "engine/base/nearest_word.h"

namespace ds::launcher {

namespace {

const Command kCommands[] = {
    kExecCommand,       kDoctorCommand,    kPlanCommand,  kInspectCommand, kExportCommand,
    kAverageCommand,    kK8sCommand,       kPsCommand,    kTailCommand,    kAttachCommand,
    kCheckpointCommand, kKillCommand,      kAsCommand,    kHelpCommand,    kManCommand,
    kCompletionCommand, kNodeFactsCommand, kAgentCommand,
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view word) {
  for (const Command& command : kCommands)
    if (command.name == word) return &command;
  return nullptr;
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

}  // namespace ds::launcher
