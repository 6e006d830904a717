// The subcommands, each defined in its own file or with a related one, and the forms of `dslaunch`
// without a subcommand.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/commands/start/job_request.h"

namespace ds::launcher {

// Commands on nodes.
extern const Command kExecCommand;       // one command per node (pdsh)
extern const Command kCopyCommand;       // files to every node (pdcp)
extern const Command kRcopyCommand;      // files from every node (rpdcp)
extern const Command kCopyNodeCommand;   // run by `copy` and `rcopy` on a node
extern const Command kDoctorCommand;     // checks every node
extern const Command kAgentCommand;      // the agent on a node
extern const Command kNodeFactsCommand;  // run by `doctor` on a node
extern const Command kAsCommand;         // another launcher's command line

// Commands of dsrunner: dslaunch checks the options and passes the words on.
extern const Command kPlanCommand;
extern const Command kInspectCommand;
extern const Command kExportCommand;
extern const Command kSampleCommand;
extern const Command kEvalCommand;
extern const Command kAverageCommand;
extern const Command kConvertCommand;
extern const Command kDataCommand;
extern const Command kReportCommand;

// Commands on running jobs.
extern const Command kPsCommand;
extern const Command kKillCommand;
extern const Command kCheckpointCommand;
extern const Command kScaleCommand;
extern const Command kTailCommand;
extern const Command kAttachCommand;

// Commands that print text.
extern const Command kK8sCommand;
extern const Command kHelpCommand;
extern const Command kManCommand;
extern const Command kCompletionCommand;

/// Returns all subcommands, also those hidden from help.
std::span<const Command> commands();
/// Returns the subcommand named `word`, or null.
const Command* find_command(std::string_view word);
/// Returns the subcommand whose name is closest to the unknown word; empty if no name is close.
std::string near_command(std::string_view word);

// Main command: `dslaunch [options] train.toml` and `dslaunch [options] -- COMMAND`.

/// Runs the command line after argv[0] and returns the exit code. Overwrites values of
/// `-x NAME=value` in `argv`.
/// Errors:  ds::Error of any kind.
int run_main_command(int argc, char** argv);

/// Runs `dslaunch --k8s --transport join`: waits for `dslaunch agent --join --root HERE` of every
/// peer. The result goes to `log`.
int run_k8s_job(const Options& options, JobParts parts, TerminationLog& log);

/// Runs the command line of the launcher that argv[0] names and returns the exit code; nothing if
/// argv[0] does not end with the name of a launcher.
/// Errors:  ds::Error of any kind.
std::optional<int> run_disguised(int argc, char** argv);

}  // namespace ds::launcher
