// What the output side of a job must learn from this machine, and prepare on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/job/output_plan.h"

namespace ds::launcher {

Screens look_at_screens(int out_fd, int err_fd);
/// The size of the first of these that is a terminal.
std::optional<Window> terminal_size(int fd, int other_fd);

/// The folders of these files, before anything runs.
/// Errors:  Error{config}: one cannot be made or written.
void make_log_folders(const std::vector<std::string>& files);

}  // namespace ds::launcher
