// Reads the properties of the launcher's terminal, and makes the folders of log files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/job/output_plan.h"

namespace ds::launcher {

Screens look_at_screens(int out_fd, int err_fd);
/// Returns the size of the first of these descriptors that is a terminal.
std::optional<Window> terminal_size(int fd, int other_fd);

/// Makes the folders of these files, before anything runs.
/// Errors:  Error{config} for a folder that cannot be made or written.
void make_log_folders(const std::vector<std::string>& files);

}  // namespace ds::launcher
