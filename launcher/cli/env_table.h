// What --dry-run=env shows: which variables go where, and who gave them. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_policy.h"

namespace ds::launcher {

/// `given`: of every rank; `sent`: of the launcher's own, to other nodes. Control bytes are shown
/// as '?', values of secrets as ***.
std::string env_table(const std::vector<NamedValue>& given, const EnvList& sent,
                      const std::vector<std::string>& redact);

}  // namespace ds::launcher
