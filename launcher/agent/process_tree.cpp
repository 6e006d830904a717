#include "launcher/agent/process_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

std::uint64_t start_of(pid_t pid) {
  return std::strtoull(stat_field(pid, 22).c_str(), nullptr, 10);
}

}  // namespace

ProcessRef ProcessRef::of(pid_t pid) { return of(pid, start_of(pid)); }

ProcessRef ProcessRef::of(pid_t pid, std::uint64_t start_time) {
  ProcessRef ref;
  ref.pid_ = pid;
  ref.start_time_ = start_time;
  return ref;
}

bool ProcessRef::lives() const {
  const State now = state();
  return now == State::alive || now == State::stopped;
}

ProcessRef::State ProcessRef::state() const {
  if (pid_ <= 0) return State::gone;
  const std::string letter = stat_field(pid_, 3);
  if (letter.empty() || start_of(pid_) != start_time_) return State::gone;
  if (letter[0] == 'Z' || letter[0] == 'X') return State::zombie;
  return letter[0] == 'T' ? State::stopped : State::alive;
}

void ProcessRef::kill() const {
  if (pid_ <= 0) return;
  // The descriptor comes first, so that the process checked is the process killed.
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (start_of(pid_) != start_time_) return;
  if (!pidfd || ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) != 0)
    ::kill(pid_, SIGKILL);
}

bool StopWatch::stopped_twice() {
  const bool stopped = process_.state() == ProcessRef::State::stopped;
  return std::exchange(stopped_before_, stopped) && stopped;
}

bool is_shim_with_children(pid_t pid) {
  return name_of(pid) == kShimName && !children_of(pid).empty();
}

bool kill_children_until_none(Deadline deadline, void (*reaped)(void*, pid_t, int), void* context) {
  while (true) {
    for (const pid_t child : own_children()) ::kill(child, SIGKILL);
    bool any = false;
    while (true) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == ECHILD) return true;
      if (pid <= 0) break;
      any = true;
      if (reaped != nullptr) reaped(context, pid, status);
    }
    if (deadline.passed()) return false;
    // Death and reparenting of grandchildren send no event.
    if (!any) ::usleep(500);
  }
}

void signal_descendants(int signo) {
  std::set<pid_t> seen;
  for (int round = 0, found = 1; round < 8 && found > 0; ++round) {
    found = 0;
    std::vector<pid_t> open = own_children();
    while (!open.empty()) {
      const pid_t pid = open.back();
      open.pop_back();
      if (seen.insert(pid).second) {
        ++found;
        ::kill(pid, signo);
      }
      const std::vector<pid_t> below = children_of(pid);
      open.insert(open.end(), below.begin(), below.end());
    }
  }
}

void set_process_title(const char* name, const char* title) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  // Fields 48 and 49: begin and end of the arguments in the memory of this process.
  const auto begin = std::strtoull(stat_field(::getpid(), 48).c_str(), nullptr, 10);
  const auto end = std::strtoull(stat_field(::getpid(), 49).c_str(), nullptr, 10);
  if (begin == 0 || end <= begin) return;
  char* room = reinterpret_cast<char*>(begin);  // NOLINT: an address from the kernel
  const std::size_t size = end - begin;
  std::memset(room, 0, size);
  std::memcpy(room, title, std::min(std::strlen(title), size - 1));
}

}  // namespace ds::launcher
