// Options: a job that goes on without its terminal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

struct ControlOptions {
  std::optional<std::string> detach;  // the file for its output, %j stands for the job's id
};

std::span<const OptionDef<ControlOptions>> control_options();

/// `form` with every %j replaced by `job_id`, and %% by %.
std::string log_file_name(std::string_view form, std::string_view job_id);

}  // namespace ds::launcher
