// The subcommand `exec`.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kExecCommand;

}  // namespace ds::launcher
