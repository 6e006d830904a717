#include "e2e/orphans/process_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <system_error>

namespace ds::test {
namespace {

/// What can be read: a process may end at any moment, and reads then fail.
std::string read_all(const std::filesystem::path& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(file);
  return text;
}

}  // namespace

std::vector<Process> processes_with(const std::string& cookie) {
  std::vector<Process> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (read_all(entry.path() / "environ").find(cookie) == std::string::npos) continue;
    // PID (NAME) STATE PARENT ...: the name may hold anything, so the last ')' ends it.
    const std::string stat = read_all(entry.path() / "stat");
    const std::size_t open = stat.find('(');
    const std::size_t close = stat.rfind(')');
    if (close == std::string::npos || open == std::string::npos) continue;
    Process process;
    process.pid = std::atoi(name.c_str());
    process.name = stat.substr(open + 1, close - open - 1);
    std::istringstream rest(stat.substr(close + 1));
    rest >> process.state >> process.parent;
    if (process.state != 'Z' && process.state != 'X') found.push_back(process);
  }
  std::ranges::sort(found, {}, &Process::pid);
  return found;
}

std::vector<Process> children_of(const std::vector<Process>& processes, pid_t parent) {
  std::vector<Process> children;
  std::ranges::copy_if(processes, std::back_inserter(children),
                       [&](const Process& process) { return process.parent == parent; });
  return children;
}

}  // namespace ds::test
