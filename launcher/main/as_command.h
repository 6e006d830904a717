// dslaunch under another launcher's name: by its own name (argv[0]) or as `dslaunch as NAME ...`.
#pragma once

#include "launcher/cli/command.h"

namespace ds::launcher {

extern const Command kAsCommand;

/// Whether argv[0] ends with the name of another launcher.
bool is_disguised(const char* program);

/// argv[0] names the launcher, the other words are its own.
/// Errors:  ds::Error of any kind.   Returns the exit code.
int run_disguised(int argc, char** argv);

}  // namespace ds::launcher
