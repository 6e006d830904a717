// -x, --env-file and .deepspeed_env -> the variables that every rank gets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_policy.h"
#include "launcher/cli/options_env.h"

namespace ds::launcher {

/// The values that `-x` gives. `own` is the launcher's own environment. Pure.
/// Order:   that of the command line; a pattern gives its variables in the order of `own`.
/// Errors:  Error{usage} when a variable without a value is not set here: an empty one would hide a
///          mistake.
std::vector<NamedValue> resolve_forwards(const std::vector<EnvForward>& forwards,
                                         const EnvList& own);

/// Everything that is given to every rank, each name once: DeepSpeed's files of the home folder
/// and of this one, then --env-file, then -x; what comes later wins.
/// `warn` gets a line when a file with secrets can be read by everybody.
/// Errors:  Error{usage}, Error{config} of the files.
std::vector<NamedValue> given_variables(const EnvOptions& options, const EnvList& own,
                                        const std::function<void(std::string)>& warn);

EnvList without_sources(const std::vector<NamedValue>& variables);

/// Name and value of each variable of this process.
EnvList own_variables();
/// Looks into this process's environment.
std::optional<std::string> own_variable(const std::string& name);

}  // namespace ds::launcher
