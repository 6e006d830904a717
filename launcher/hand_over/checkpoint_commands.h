// The subcommands that work on checkpoints: `inspect`, `export`, `average`.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kInspectCommand;
extern const Command kExportCommand;
extern const Command kAverageCommand;

}  // namespace ds::launcher
