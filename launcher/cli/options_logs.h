// Options: what is shown, how, and what is kept.
#pragma once

#include <span>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

enum class LogLevel { error, warn, info, debug };

struct LogOptions {
  LogLevel log_level = LogLevel::info;
};

std::span<const OptionDef<LogOptions>> log_options();

}  // namespace ds::launcher
