// Several programs in one job, as mpirun has it: `-n 2 -- ./a x : -n 4 -- ./b`. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options_env.h"
#include "launcher/hosts/host_selection.h"

namespace ds::launcher {

/// A program behind a ':', with the options that stand before its `--`.
struct MoreProgram {
  std::optional<int> ranks;       // -n; empty: every slot that is left
  std::string role = "default";   // --role
  std::vector<HostPick> hosts{};  // --host: only on these
  EnvOptions env{};               // -x and --wdir, over those of the job
  std::vector<std::string> command{};
};

/// Cuts the words behind the first `--` of the command line: the first command stays in `words`.
/// A ':' starts another program when an option or `--` follows it; any other ':' is an argument.
/// Errors:  Error{usage}.
std::vector<MoreProgram> take_more_programs(std::vector<std::string>& words);

}  // namespace ds::launcher
