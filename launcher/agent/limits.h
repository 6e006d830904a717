// Resource limits: reads those of the launcher's shell, and computes what ranks on a node set.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Returns the soft limits of this process that every node gets: nofile, nproc, memlock, stack,
/// core.
std::vector<ResourceLimit> limits_of_this_process();

/// Raises the limit of open files to the hard limit, for a launcher of many nodes or an agent of
/// many ranks. Ranks get the old limit (limits_to_set), other programs after
/// give_back_open_files().
void raise_open_files();
void give_back_open_files();

/// Returns the soft limit for a rank where the node has `now` and the launcher sent `wanted`: at
/// most the node's hard limit, and at least the node's soft limit (the 64 KiB of locked memory of a
/// login node must not reach a node with InfiniBand). `exact`: may be lower, too. Pure.
rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact);

struct LimitToSet {
  int resource = 0;
  rlimit value{};
};
/// Returns the limits that a rank must set after its fork from this process. Unknown names are
/// skipped.
std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted);

}  // namespace ds::launcher
