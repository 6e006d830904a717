// What one node is told to run. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/job/rank_environment.h"

namespace ds::launcher {

/// `own_env` is the launcher's own environment, NAME=value.
Spec make_spec(const JobRequest& request, int node, const JobIdentity& identity, const Hello& hello,
               const std::vector<std::string>& own_env);

}  // namespace ds::launcher
