// Memory and CPU time still available to this process: the kernel's figures, limited by every
// enclosing cgroup.
#pragma once

#include <cstddef>
#include <string>

namespace ds {

/// Returns the minimum of MemAvailable and, for each cgroup (v1 or v2) from this process's own up
/// to the root, its limit minus its usage without droppable file cache. Unreadable files are
/// ignored; the largest std::int64_t stands for no limit. `root` is prepended to /proc and /sys,
/// for tests.
std::size_t available_memory_bytes(const std::string& root = "");

/// Returns the CPU seconds per second that the tightest cgroup quota (v1 or v2) allows, or
/// infinity.
double cpu_quota(const std::string& root = "");

}  // namespace ds
