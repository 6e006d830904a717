// `-x NAME` and `-x NAME=value` -> the variables that every rank gets. Pure: the lookup is an
// argument.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cli/options.h"

namespace ds::launcher {

using EnvList = std::vector<std::pair<std::string, std::string>>;

/// The value of a variable of the launcher's own environment, if it is set.
using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Order:   that of the command line.
/// Errors:  Error{usage} when a variable without a value is not set here: an empty one would hide a
/// mistake.
EnvList resolve_forwards(const std::vector<EnvForward>& forwards, const EnvLookup& lookup);

/// Looks into this process's environment.
std::optional<std::string> own_variable(const std::string& name);

}  // namespace ds::launcher
