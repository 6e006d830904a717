// Options -> what the ranks of a job run, and with which variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/options.h"
#include "launcher/job/job.h"

namespace ds::launcher {

/// What each group runs: the first command, then those behind ':'. `own`: this process's variables.
/// Errors:  Error{config} for a train.toml that cannot be read, Error{usage} for -x.
std::vector<Program> programs_of(const Options& options, const EnvList& own);

/// What the options (`given` are theirs) and this process's environment give to ranks.
JobEnvironment job_environment(const EnvOptions& options, const std::vector<NamedValue>& given,
                               const EnvList& own);

/// Lines on standard error, printable: nodes and other programs have said parts of them.
void say_line(std::string_view text);
void say_warning(const std::string& text);

}  // namespace ds::launcher
