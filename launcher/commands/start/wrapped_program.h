// Finds the program behind commands that only start it: env, nice, taskset, sh -c. Pure.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher {

/// Returns the program that a command line starts in the end: "./a.out" of `env X=1 nice ./a.out`.
/// Returns the first word if it is no such command, or if a shell does more than start one program.
std::string wrapped_program(std::vector<std::string> argv);

}  // namespace ds::launcher
