#include "launcher/agent/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

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

std::string read_of(pid_t pid, const char* file) {
  return read_proc(std::to_string(pid) + "/" + file);
}

/// Reads /proc/PID/stat, which one read returns as a whole. A second read for the end of the file
/// would let the kernel format it again.
std::string stat_of(pid_t pid) {
  char buffer[4096];
  const UniqueFd file = open_proc(std::to_string(pid) + "/stat", O_RDONLY);
  const ssize_t n = file ? ::read(file.get(), buffer, sizeof buffer) : 0;
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
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
  const std::string text = read_proc(task + "/children");
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return;
    out.push_back(static_cast<pid_t>(pid));
  }
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

std::string name_of(pid_t pid) {
  const std::string line = read_of(pid, "comm");
  return line.substr(0, line.find('\n'));
}

pid_t parent_of(pid_t pid) {
  return static_cast<pid_t>(std::strtol(stat_field(pid, 4).c_str(), nullptr, 10));
}

std::string environ_of(pid_t pid) { return read_of(pid, "environ"); }

std::string status_of(pid_t pid) { return read_of(pid, "status"); }

std::string stat_field(pid_t pid, int number) {
  const std::string text = stat_of(pid);
  // The second field is a name that may hold spaces and parentheses.
  std::size_t at = text.rfind(')');
  if (at == std::string::npos) return {};
  for (int field = 2; field < number && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
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

}  // namespace ds::launcher
