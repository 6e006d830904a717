// Runs a small local program to its end and takes what it prints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/exit_status.h"

namespace ds::launcher {

enum class ProgramOutput { dropped, taken };

struct ProgramEnd {
  std::optional<ExitStatus> status;  // none: it could not be started, or was killed at the limit
  std::string output;                // at most 64 KiB
};

/// argv[0] is found on PATH. It has no terminal and no input; its standard error is ours. What is
/// left of its session at the limit is killed. Waits; for the time before an event loop runs.
ProgramEnd run_program(const std::vector<std::string>& argv, std::chrono::milliseconds limit,
                       ProgramOutput output);

}  // namespace ds::launcher
