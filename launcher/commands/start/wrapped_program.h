// Finds the command behind others that only start it: env, nice, taskset, sh -c. Pure.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher {

/// Returns the command line that is run in the end: `./a.out 5` of `env X=1 nice ./a.out 5`. Returns
/// it as it is if it is no such command, or if a shell does more than start one program.
std::vector<std::string> wrapped_command(std::vector<std::string> argv);

}  // namespace ds::launcher
