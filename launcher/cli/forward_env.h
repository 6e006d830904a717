// Variables that every rank gets: from -x, --env-file and .deepspeed_env.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_policy.h"
#include "launcher/cli/options_env.h"

namespace ds::launcher {

/// Returns the values that `-x` gives. `own` is the launcher's own environment. Pure.
/// Order:   as on the command line; a pattern gives its variables in the order of `own`.
/// Errors:  Error{usage} if a variable without a value is not set in `own`: an empty value would
///          hide a mistake.
std::vector<NamedValue> resolve_forwards(const std::vector<EnvForward>& forwards,
                                         const EnvList& own);

/// Returns every variable that all ranks get, each name once. Later sources win: DeepSpeed's file
/// in the home folder, the one in the current folder, --env-file, -x.
/// Calls `warn` with one line if every user can read a file with secrets.
/// Errors:  Error{usage}, Error{config} of the files.
std::vector<NamedValue> given_variables(const EnvOptions& options, const EnvList& own,
                                        const std::function<void(std::string)>& warn);

/// Returns names and values only.
EnvList without_sources(const std::vector<NamedValue>& variables);

/// Returns the environment of this process.
EnvList own_variables();
/// Returns the value of `name` in this process's environment.
std::optional<std::string> own_variable(const std::string& name);

}  // namespace ds::launcher
