// `dslaunch report`: writes a page with the curves of runs.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Does `dsrunner report WORDS` and returns the exit code. Errors: Error{usage, config, system}.
int run_report(const std::vector<std::string>& words);

}  // namespace ds
