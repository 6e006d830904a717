// Several programs in one job, in mpirun's syntax: `-n 2 -- ./a x : -n 4 -- ./b`. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options_env.h"
#include "launcher/hosts/host_selection.h"

namespace ds::launcher {

/// Program after a ':', with the options before its `--`.
struct MoreProgram {
  std::optional<int> ranks;       // -n; empty: the remaining slots
  std::string role = "default";   // --role
  std::vector<HostPick> hosts{};  // --host: use only these hosts
  EnvOptions env{};               // -x and --wdir, which override those of the job
  std::vector<std::string> command{};
};

/// Removes the programs after the first ':' from the words after the first `--`, and returns them.
/// The first command stays in `words`. A ':' starts another program if an option or `--` follows
/// it; any other ':' is an argument.
/// Errors:  Error{usage}.
std::vector<MoreProgram> take_more_programs(std::vector<std::string>& words);

}  // namespace ds::launcher
