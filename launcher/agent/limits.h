// Resource limits of the launcher's shell, taken over by ranks on other nodes.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Soft limits of this process that are sent to every node: nofile, nproc, memlock, stack, core.
std::vector<ResourceLimit> limits_of_this_process();

/// A launcher of many nodes, or an agent of many ranks, may have as many files open as the hard
/// limit says. Ranks get what was there before (limits_to_set), other programs after
/// give_back_open_files.
void raise_open_files();
void give_back_open_files();

/// The soft limit that a rank gets where `now` holds and `wanted` was sent: never above the node's
/// hard limit, and never below the soft limit that the node gives by itself (a login node's 64 KiB
/// of locked memory must not reach a node with InfiniBand). `exact`: lowered too. Pure.
rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact);

struct LimitToSet {
  int resource = 0;
  rlimit value{};
};
/// What a rank has to change after its fork from this process for `wanted`. Unknown names are left
/// out.
std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted);

}  // namespace ds::launcher
