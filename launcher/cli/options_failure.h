// Options: how a job ends.
#pragma once

#include <chrono>
#include <span>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

struct FailureOptions {
  std::chrono::milliseconds grace{10'000};
  std::chrono::milliseconds node_timeout{10'000};
};

std::span<const OptionDef<FailureOptions>> failure_options();

}  // namespace ds::launcher
