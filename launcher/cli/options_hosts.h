// Options: which nodes, how many ranks.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

enum class DryRun { off, table, json };

struct HostOptions {
  std::optional<std::string> hostfile;  // "-" is standard input; empty: this machine only
  std::optional<int> ranks;             // -n
  DryRun dry_run = DryRun::off;
};

std::span<const OptionDef<HostOptions>> host_options();

}  // namespace ds::launcher
