// Options of output: what is shown, in which form, and what is kept.
#pragma once

#include <span>

#include "launcher/cli/option_table.h"
#include "launcher/logs/log_policy.h"

namespace ds::launcher {

enum class LogLevel { error, warn, info, debug };

struct LogOptions {
  LogLevel log_level = LogLevel::info;
  LogPolicy policy;  // its folder is as typed
};

std::span<const OptionDef<LogOptions>> log_options();

}  // namespace ds::launcher
