// `dslaunch [options] train.toml` and `dslaunch [options] -- COMMAND`.
#pragma once

namespace ds::launcher {

/// Runs what the words behind argv[0] say, and returns the exit code. Values of `-x NAME=value` are
/// blanked in `argv`.
/// Errors:  ds::Error of any kind.
int run_main_command(int argc, char** argv);

}  // namespace ds::launcher
