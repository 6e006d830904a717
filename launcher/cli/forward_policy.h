// Policy of --env: which of the launcher's own variables go to ranks on other nodes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

using EnvList = std::vector<std::pair<std::string, std::string>>;

enum class EnvPolicy {
  allow,  // variables that configure such jobs
  all,    // all but those that describe this machine, this session or another launcher's job
  none    // nothing; local ranks then get only what a login would set
};

/// Returns whether a variable goes to other nodes without being named.
bool travels(std::string_view name, EnvPolicy policy);

/// Returns whether a variable names devices of this machine, or is emptied by operators on a
/// launcher pod. Such a variable is forwarded only by its full name, not by a pattern
/// (`-x 'NVIDIA_*'`).
bool is_device_choice(std::string_view name);

/// Returns the variables of `own` that go to other nodes under `policy`.
EnvList travelling(const EnvList& own, EnvPolicy policy);

/// Returns the variables of `own` that a login sets too. Local ranks start from these under `none`.
EnvList login_variables(const EnvList& own);

}  // namespace ds::launcher
