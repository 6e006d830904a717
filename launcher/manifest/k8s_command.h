// The subcommand `k8s`: writes manifests to standard output.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kK8sCommand;

}  // namespace ds::launcher
