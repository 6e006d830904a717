// Checks a train.toml before any rank starts, so that a mistake in it reaches no node.
#pragma once

#include <functional>
#include <string>

#include "launcher/hosts/placement.h"
#include "launcher/job/job.h"

namespace ds::launcher {

struct ConfigCheck {
  int code = 0;           // exit code of dsrunner
  std::string problem{};  // as check_problem()
};

/// Runs `dsrunner --check` as rank 0 of the placement. `program`: dsrunner, train.toml, overrides.
/// If that rank will not run `here`, only the configuration itself is checked: data and memory of
/// the other machine are not known. The output goes to standard error. Without a dsrunner here
/// nothing is checked. `goes_on` is called every 50 ms meanwhile, as a check may take minutes; if
/// it returns false, dsrunner is killed. It may be empty.
/// Errors:  Error{system} if dsrunner cannot be started.
ConfigCheck check_config(const Program& program, const PlacedJob& placed, bool here,
                         const std::function<bool()>& goes_on = {});

}  // namespace ds::launcher
