// The options of the ssh program in PDSH_SSH_ARGS and PDSH_SSH_ARGS_APPEND. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/disguise/disguise.h"

namespace ds::launcher {

/// What PDSH_SSH_ARGS and PDSH_SSH_ARGS_APPEND set.
struct PdshSshArgs {
  std::vector<std::pair<std::string, std::string>> options{};
  std::string user, port;
  std::vector<std::string> notes{};
};

/// Reads these variables; `notes` names what has no effect.
PdshSshArgs pdsh_ssh_args(const Surroundings& around);

}  // namespace ds::launcher
