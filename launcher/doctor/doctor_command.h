// The subcommand `doctor`, and what it runs on nodes.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kDoctorCommand;
extern const Command kNodeFactsCommand;

}  // namespace ds::launcher
