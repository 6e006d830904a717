// One row a subcommand; what it does lies in its own folder.
#include "launcher/main/commands.h"

#include <unistd.h>

#include <vector>

#include "engine/base/nearest_word.h"
#include "launcher/agent/guard.h"
#include "launcher/cli/option_values.h"
#include "launcher/doctor/doctor_command.h"
#include "launcher/exec/exec_command.h"
#include "launcher/jobs/jobs.h"
#include "launcher/main/about.h"
#include "launcher/main/as_command.h"
#include "launcher/manifest/k8s_command.h"
#include "launcher/plan/plan_command.h"
#include "launcher/slurm/step_agent.h"

namespace ds::launcher {

namespace {

/// What the launcher starts on every node; it reads frames, not options.
int run_agent(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string_view("--join=stdin")) return run_step_agent();
  if (argc > 1) usage_error("dslaunch agent takes no words", "dslaunch itself starts it on nodes");
  return run_guard(STDIN_FILENO, STDOUT_FILENO);
}

const Command kCommands[] = {
    kExecCommand,      kDoctorCommand,
    kPlanCommand,      kK8sCommand,
    kPsCommand,        kTailCommand,
    kAttachCommand,    kKillCommand,
    kAsCommand,        kHelpCommand,
    kManCommand,       kCompletionCommand,
    kNodeFactsCommand, {.name = "agent", .summary = "", .run = run_agent},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command* find_command(std::string_view word) {
  for (const Command& command : kCommands)
    if (command.name == word) return &command;
  return nullptr;
}

std::string near_command(std::string_view word) {
  std::vector<std::string_view> known;
  for (const Command& command : kCommands)
    if (!command.summary.empty()) known.push_back(command.name);
  return nearest_word(word, known);
}

}  // namespace ds::launcher
