// Declarations of every subcommand; commands.cpp lists them, one file each implements them.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

// Commands on nodes.
extern const Command kExecCommand;       // one command per node (pdsh)
extern const Command kDoctorCommand;     // checks every node
extern const Command kAgentCommand;      // the agent on a node
extern const Command kNodeFactsCommand;  // run by `doctor` on a node
extern const Command kAsCommand;         // another launcher's command line

// Commands of dsrunner: dslaunch checks the options and passes the words on.
extern const Command kPlanCommand;
extern const Command kInspectCommand;
extern const Command kExportCommand;
extern const Command kAverageCommand;

// Commands on running jobs.
extern const Command kPsCommand;
extern const Command kKillCommand;
extern const Command kCheckpointCommand;
extern const Command kTailCommand;
extern const Command kAttachCommand;

// Commands that print text.
extern const Command kK8sCommand;
extern const Command kHelpCommand;
extern const Command kManCommand;
extern const Command kCompletionCommand;

}  // namespace ds::launcher
