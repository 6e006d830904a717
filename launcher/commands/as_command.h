// dslaunch under another launcher's name: by argv[0] or as `dslaunch as NAME ...`.
#pragma once

namespace ds::launcher {

/// Returns whether argv[0] ends with the name of another launcher.
bool is_disguised(const char* program);

/// Runs the command line of the launcher that argv[0] names, and returns the exit code.
/// Errors:  ds::Error of any kind.
int run_disguised(int argc, char** argv);

}  // namespace ds::launcher
