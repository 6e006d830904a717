// Request of a job, its programs and its environment, from the options. Independent of how nodes
// are reached.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/forward_env.h"
#include "launcher/commands/start/detach.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// Returns `DIR/dsrunner /abs/train.toml key=value ...`, where DIR is the folder of this dslaunch.
/// On a node that has no such file the agent looks for dsrunner on PATH.
/// Errors:  Error{config} if the file cannot be read here.
std::vector<std::string> train_command(const TrainForm& form);

/// What the ranks run, and in which environment.
struct JobParts {
  std::vector<Program> programs{};  // of each group: the first command, then those after ':'
  JobEnvironment environment{};
  std::vector<NamedValue> given{};  // variables that the options give to every rank
};

/// Returns the parts of the job from the options and the variables of this process.
/// Errors:  Error{config} for a train.toml or a file of variables that cannot be read, Error{usage}
///          for -x.
JobParts job_parts(const Options& options);

/// Print a line on standard error. Unprintable bytes are replaced: parts come from nodes.
void say_line(std::string_view text);
void say_warning(const std::string& text);

/// Returns the hosts of the nodes, then the spares: the order of JobRequest::routes.
std::vector<Host> hosts_of(const PlacedJob& placed);

/// Returns the complete request except for the routes and the start timeout. `background`: null for
/// a job that stays at its terminal.
/// Errors:  Error{config}: MPI programs whose ranks would not find each other (choose_mpi.h).
JobRequest job_request(const Options& options, PlacedJob placed, JobParts parts,
                       const Background* background);

/// Makes the default of --max-wait at least as long as the start timeout, which must be set.
void lengthen_max_wait(JobPolicy& policy, const FailureOptions& options);

/// Returns whether a host is this machine under the chosen transport.
bool runs_here(const Host& host, TransportChoice transport);

}  // namespace ds::launcher
