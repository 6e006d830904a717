// The subcommand `plan`.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kPlanCommand;

}  // namespace ds::launcher
