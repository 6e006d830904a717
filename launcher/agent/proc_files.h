// Reads files of /proc with plain system calls, also after another /proc was mounted over it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ds::launcher {

/// Makes this process read the /proc that is mounted now, also after another mount over it.
void keep_proc();
/// Makes this process read the topmost /proc again.
void forget_proc();

/// Returns the content of a file; empty if it cannot be read.
std::string read_small_file(const char* path);
/// Returns the first line of a file without the newline; empty if it cannot be read.
std::string first_line_of(const std::string& path);
/// Returns the content of a file below /proc, as in read_proc("self/cgroup").
std::string read_proc(const std::string& name);

/// Return the name (comm), the parent, the environment at the start, and /proc/PID/status; empty or
/// 0 if the process does not exist or may not be read.
std::string name_of(pid_t pid);
pid_t parent_of(pid_t pid);
std::string environ_of(pid_t pid);
std::string status_of(pid_t pid);
/// Returns a field of /proc/PID/stat, counted from 1 as in proc(5), from the third on; empty if the
/// process does not exist.
std::string stat_field(pid_t pid, int number);

/// Returns all processes in /proc.
std::vector<pid_t> all_processes();
/// Returns the children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);
/// Returns the direct children of this process, zombies included. Threads: the process has one.
std::vector<pid_t> own_children();

}  // namespace ds::launcher
