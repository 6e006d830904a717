// Runs a small program and reads what it prints, with a deadline.
#pragma once

#include <string>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher::doctor {

struct ToolResult {
  bool started = false;
  bool in_time = false;
  int code = 0;       // as a shell has it
  std::string out{};  // both streams if asked for, at most 1 MiB
};

/// argv[0] is looked for on PATH. A program that is late is killed.
ToolResult run_tool(const std::vector<std::string>& argv, bool with_errors, Deadline deadline);

/// The last line of a text that is not empty.
std::string last_line_of(const std::string& text);

}  // namespace ds::launcher::doctor
