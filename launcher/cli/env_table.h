// Text of --dry-run=env: which variables each rank would get, and where they were given. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_policy.h"

namespace ds::launcher {

/// Formats the variables set for every rank (`given`) and the launcher's own variables that are
/// forwarded to other nodes (`sent`). Control bytes are shown as '?', secret values as ***.
std::string env_table(const std::vector<NamedValue>& given, const EnvList& sent,
                      const std::vector<std::string>& redact);

}  // namespace ds::launcher
