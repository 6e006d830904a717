// Main command: `dslaunch [options] train.toml` and `dslaunch [options] -- COMMAND`.
#pragma once

namespace ds::launcher {

/// Runs the command line after argv[0] and returns the exit code. Overwrites values of
/// `-x NAME=value` in `argv`.
/// Errors:  ds::Error of any kind.
int run_main_command(int argc, char** argv);

}  // namespace ds::launcher
