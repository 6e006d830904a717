#include "launcher/agent/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
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
#include <sstream>

#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

int kept_proc = -1;

UniqueFd open_proc(const std::string& name, int flags) {
  if (kept_proc >= 0) return UniqueFd(::openat(kept_proc, name.c_str(), flags | O_CLOEXEC));
  return UniqueFd(::open(("/proc/" + name).c_str(), flags | O_CLOEXEC));
}

std::string read_all(const UniqueFd& file) {
  std::string text;
  char buffer[4096];
  if (!file) return text;
  for (ssize_t n = 0; (n = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

/// Returns the names in a folder below /proc that are numbers.
std::vector<pid_t> numbers_in(const std::string& name) {
  std::vector<pid_t> numbers;
  UniqueFd folder = open_proc(name, O_RDONLY | O_DIRECTORY);
  DIR* const list = folder ? ::fdopendir(folder.get()) : nullptr;
  if (list == nullptr) return numbers;
  (void)folder.release();  // The list owns it now.
  while (const dirent* entry = ::readdir(list)) {
    const long number = std::strtol(entry->d_name, nullptr, 10);
    if (number > 0) numbers.push_back(static_cast<pid_t>(number));
  }
  ::closedir(list);
  return numbers;
}

void append_children(const std::string& task, std::vector<pid_t>& out) {
  std::istringstream children(read_proc(task + "/children"));
  for (pid_t pid = 0; children >> pid;) out.push_back(pid);
}

std::uint64_t start_of(pid_t pid) {
  return std::strtoull(stat_field(pid, 22).c_str(), nullptr, 10);
}

}  // namespace

void keep_proc() {
  if (kept_proc < 0) kept_proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void forget_proc() {
  if (kept_proc >= 0) ::close(kept_proc);
  kept_proc = -1;
}

std::string read_small_file(const char* path) {
  return read_all(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)));
}

std::string first_line_of(const std::string& path) {
  const std::string text = read_small_file(path.c_str());
  return text.substr(0, text.find('\n'));
}

std::string read_proc(const std::string& name) { return read_all(open_proc(name, O_RDONLY)); }

std::string read_proc(pid_t pid, const std::string& name) {
  return read_proc(std::to_string(pid) + "/" + name);
}

std::string name_of(pid_t pid) {
  const std::string line = read_proc(pid, "comm");
  return line.substr(0, line.find('\n'));
}

pid_t parent_of(pid_t pid) {
  return static_cast<pid_t>(std::strtol(stat_field(pid, 4).c_str(), nullptr, 10));
}

std::string stat_field(pid_t pid, int number) {
  // One read returns the whole file. A second read, for its end, would let the kernel format it
  // again.
  char buffer[4096];
  const UniqueFd file = open_proc(std::to_string(pid) + "/stat", O_RDONLY);
  const ssize_t n = file ? ::read(file.get(), buffer, sizeof buffer) : 0;
  const std::string_view text(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  // The second field is a name that may hold spaces and parentheses.
  std::size_t at = text.rfind(')');
  for (int field = 2; field < number && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return std::string(text.substr(at + 1, text.find(' ', at + 1) - at - 1));
}

std::vector<pid_t> all_processes() { return numbers_in("."); }

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = std::to_string(pid) + "/task";
  for (const pid_t task : numbers_in(tasks))
    append_children(tasks + "/" + std::to_string(task), children);
  return children;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  append_children("thread-self", children);
  return children;
}

ProcessRef ProcessRef::of(pid_t pid) { return {pid, start_of(pid)}; }

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

void kill_children_until_none(const Deadline& deadline, FunctionRef<void(pid_t, int)> reaped) {
  while (true) {
    for (const pid_t child : own_children()) ::kill(child, SIGKILL);
    bool any = false;
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      any = true;
      reaped(pid, status);
    }
    if ((pid < 0 && errno == ECHILD) || deadline.passed()) return;
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
