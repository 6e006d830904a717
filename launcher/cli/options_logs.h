// Options: what is shown, how, and what is kept.
#pragma once

#include <span>

#include "launcher/cli/option_table.h"
#include "launcher/logs/log_policy.h"

namespace ds::launcher {

enum class LogLevel { error, warn, info, debug };

struct LogOptions {
  LogLevel log_level = LogLevel::info;
  LogPolicy policy;  // the folder as typed
};

std::span<const OptionDef<LogOptions>> log_options();

}  // namespace ds::launcher
