// Request of a job, its programs and its environment, from the options. Independent of how nodes
// are reached.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/forward_env.h"
#include "launcher/commands/start/detach.h"
#include "launcher/hosts/spares.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// Returns `DIR/dsrunner /abs/train.toml key=value ...`, where DIR is the folder of this dslaunch.
/// On a node that has no such file the agent looks for dsrunner on PATH.
/// Errors:  Error{config} if the file cannot be read here.
std::vector<std::string> train_command(const TrainForm& form);

/// Returns the program of each group: the first command, then those after ':'. `own`: variables of
/// this process.
/// Errors:  Error{config} for a train.toml that cannot be read, Error{usage} for -x.
std::vector<Program> programs_of(const Options& options, const EnvList& own);

/// Returns the variables that ranks get from the options (`given`) and from this process.
JobEnvironment job_environment(const EnvOptions& options, const std::vector<NamedValue>& given,
                               const EnvList& own);

/// Print a line on standard error. Unprintable bytes are replaced: parts come from nodes.
void say_line(std::string_view text);
void say_warning(const std::string& text);

/// Returns the hosts of the nodes, then the spares: the order of JobRequest::routes.
std::vector<Host> hosts_of(const PlacedJob& placed);

/// Returns the complete request except for the routes and the start timeout. `background`: null for
/// a job that stays at its terminal.
/// Errors:  Error{config}: several ranks of a program that is linked with an MPI library.
JobRequest job_request(const Options& options, PlacedJob placed, std::vector<Program> programs,
                       JobEnvironment environment, const Background* background);

}  // namespace ds::launcher
