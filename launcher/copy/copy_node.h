// The program that `dslaunch copy` and `rcopy` run on each node: messages come on standard input,
// answers go to standard output.
#pragma once

namespace ds::launcher::copy {

/// Runs until standard input ends and returns the exit code. What is wrong goes to standard error.
int run_copy_node();

}  // namespace ds::launcher::copy
