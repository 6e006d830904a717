// Subcommands about dslaunch itself: help, man, completion.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kHelpCommand;
extern const Command kManCommand;
extern const Command kCompletionCommand;

}  // namespace ds::launcher
