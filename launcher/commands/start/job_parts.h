// Programs and environment of a job, from the options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/options.h"
#include "launcher/job/job.h"

namespace ds::launcher {

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

}  // namespace ds::launcher
