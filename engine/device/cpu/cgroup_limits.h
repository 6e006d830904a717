// What this process may still take of memory and CPUs: the kernel's figures, cut by every cgroup
// above it.
#pragma once

#include <cstddef>
#include <string>

namespace ds {

/// The smallest of MemAvailable and, for each cgroup (v1 or v2) from this process's own up to the
/// root, limit minus what it holds without droppable file cache. Unreadable files do not count.
/// `root` is put in front of /proc and /sys, for tests.
std::size_t available_memory_bytes(const std::string& root = "");

/// CPUs' worth of time per second by the tightest cgroup quota (v1 or v2), or infinity.
double cpu_quota(const std::string& root = "");

}  // namespace ds
