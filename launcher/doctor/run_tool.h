// Runner of small programs: reads their output until a deadline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher::doctor {

struct ToolResult {
  bool started = false;
  bool in_time = false;
  int code = 0;       // exit code as in a shell
  std::string out{};  // at most 1 MiB; both streams if requested
};

/// Runs argv, looked up on PATH. Kills the program at the deadline.
ToolResult run_tool(const std::vector<std::string>& argv, bool with_errors, Deadline deadline);

/// Returns the last non-empty line of a text.
std::string last_line_of(std::string_view text);

}  // namespace ds::launcher::doctor
