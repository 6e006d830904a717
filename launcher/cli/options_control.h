// Options of a job that runs in the background.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

struct ControlOptions {
  std::optional<std::string> detach;  // output file; %j stands for the job's id
};

std::span<const OptionDef<ControlOptions>> control_options();

/// Returns `form` with every %j replaced by `job_id`, and %% by %.
std::string log_file_name(std::string_view form, std::string_view job_id);

}  // namespace ds::launcher
