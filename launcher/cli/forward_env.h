// Variables of the ranks: those of -x, --env-file and .deepspeed_env, and the launcher's own that
// are forwarded to other nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

using EnvList = std::vector<std::pair<std::string, std::string>>;

// Policy of --env. Pure.

/// Returns whether a variable goes to other nodes without being named.
bool travels(std::string_view name, EnvPolicy policy);

/// Returns the variables of `own` that go to other nodes under `policy`.
EnvList travelling(const EnvList& own, EnvPolicy policy);

/// Returns the variables of `own` that a login sets too. Local ranks start from these under `none`.
EnvList login_variables(const EnvList& own);

// Variables that every rank gets.

/// Returns whether a parameter (NAME of OMPI_MCA_NAME) is for the launcher of Open MPI, not for its
/// MPI library. Pure.
bool is_parameter_of_mpirun(std::string_view name);

/// Returns the values that `-x` gives. `own` is the launcher's own environment. Pure.
/// Order:   as on the command line; a pattern gives its variables in the order of `own`, without
///          devices and parameters of Open MPI's launcher.
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
/// Returns the absolute path of the running dslaunch.
std::string own_path();

/// Formats the text of --dry-run=env: the variables set for every rank (`given`) and the launcher's
/// own variables that are forwarded to other nodes (`sent`). Control bytes are shown as '?', secret
/// values as ***.
std::string env_table(const std::vector<NamedValue>& given, const EnvList& sent,
                      const std::vector<std::string>& redact);

}  // namespace ds::launcher
