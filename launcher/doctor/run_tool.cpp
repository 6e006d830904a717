#include "launcher/doctor/run_tool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher::doctor {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

pid_t spawn(const std::vector<std::string>& argv, int out, bool with_errors) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  if (with_errors)
    ::posix_spawn_file_actions_adddup2(&actions, out, 2);
  else
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : 0;
}

/// Reads until the other side closes the pipe. Returns false at the deadline.
bool read_all(int fd, std::string& text, Deadline deadline) {
  std::array<char, 65536> buffer;
  while (!deadline.passed()) {
    pollfd ready{fd, POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(deadline.remaining().count()));
    if (ready.revents == 0) continue;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0 && text.size() < kMostBytes)
      text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace

ToolResult run_tool(const std::vector<std::string>& argv, bool with_errors, Deadline deadline) {
  ToolResult result;
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return result;
  const UniqueFd read(ends[0]);
  UniqueFd write(ends[1]);
  const pid_t pid = spawn(argv, write.get(), with_errors);
  write.reset();
  result.started = pid != 0;
  if (!result.started) return result;
  result.in_time = read_all(read.get(), result.out, deadline);
  if (!result.in_time) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = ExitStatus::from_wait_status(status).shell_code();
  return result;
}

std::string last_line_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));  // npos + 1 is 0.
}

}  // namespace ds::launcher::doctor
