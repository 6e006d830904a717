// `dslaunch agent`: what runs on a node, started by a launcher or as the entrypoint of a pod.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kAgentCommand;

}  // namespace ds::launcher
