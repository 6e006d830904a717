// Which of the launcher's own variables go to ranks on other nodes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

using EnvList = std::vector<std::pair<std::string, std::string>>;

enum class EnvPolicy {
  allow,  // what jobs of this kind are configured by
  all,    // everything but what names this machine, this session or another launcher's job
  none    // nothing; ranks of this machine then get only what a login would give them
};

/// Whether a variable goes to other nodes without being named.
bool travels(std::string_view name, EnvPolicy policy);

/// Names devices of this machine, or is blanked by operators on a launcher: even a pattern
/// (`-x 'NVIDIA_*'`) does not take it along, only its own name does.
bool is_device_choice(std::string_view name);

/// Those of `own` that travel.
EnvList travelling(const EnvList& own, EnvPolicy policy);

/// Those of `own` that a login has too: what ranks of this machine start from under `none`.
EnvList login_variables(const EnvList& own);

}  // namespace ds::launcher
