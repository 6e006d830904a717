// What /proc tells of processes, also when another /proc has been put over it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ds::launcher {

/// From now on this process reads the /proc that is mounted now, whatever is mounted over it.
void keep_proc();
/// From now on it reads the /proc that is on top.
void forget_proc();

/// A file anywhere; empty if it cannot be read.
std::string read_small_file(const char* path);
/// The first line of a file anywhere, without the newline; empty if it cannot be read.
std::string first_line_of(const std::string& path);
/// A file below /proc: read_proc("self/cgroup").
std::string read_proc(const std::string& name);

/// Name (comm), parent, environment as it was at the start, /proc/PID/status; empty or 0 if there
/// is no such process or it is somebody else's.
std::string name_of(pid_t pid);
pid_t parent_of(pid_t pid);
std::string environ_of(pid_t pid);
std::string status_of(pid_t pid);
/// Field of /proc/PID/stat, counted from 1 as in proc(5), at least the third; empty if there is
/// none.
std::string stat_field(pid_t pid, int number);

/// All processes that /proc shows.
std::vector<pid_t> all_processes();
/// Children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);
/// Direct children of this process, zombies included. Threads: this process has one.
std::vector<pid_t> own_children();

}  // namespace ds::launcher
