// Subcommands about running jobs: ps, kill, checkpoint, tail, attach.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kPsCommand;
extern const Command kKillCommand;
extern const Command kCheckpointCommand;
extern const Command kTailCommand;
extern const Command kAttachCommand;

}  // namespace ds::launcher
