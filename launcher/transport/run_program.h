// Runs a small local program to its end and returns its output.
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

/// Runs argv[0], found on PATH, without terminal and input; its standard error is ours. At the
/// limit all processes of its session are killed. Blocks, so it is called before an event loop
/// runs.
ProgramEnd run_program(const std::vector<std::string>& argv, std::chrono::milliseconds limit,
                       ProgramOutput output);

}  // namespace ds::launcher
