// Starts a program by posix_spawn in its own session; waits by a pidfd; reads a pipe.
#include "launcher/transport/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

extern char** environ;

namespace ds::launcher {
namespace {

constexpr std::size_t kMostOutput = std::size_t{64} << 10;

pid_t spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (output >= 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1);
  else
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  if (::posix_spawnp(&pid, words.front(), &actions, &attributes, words.data(), environ) != 0)
    pid = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

bool readable(int fd, const Deadline& deadline) {
  pollfd entry{fd, POLLIN, 0};
  int rc = 0;
  do {
    rc = ::poll(&entry, 1, static_cast<int>(deadline.remaining().count()));
  } while (rc < 0 && errno == EINTR);
  return rc > 0;
}

std::string read_all(int fd, const Deadline& deadline) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < kMostOutput && readable(fd, deadline)) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& argv, std::chrono::milliseconds limit,
                       ProgramOutput output) {
  const Deadline deadline = Deadline::after(limit);
  int ends[2] = {-1, -1};
  if (output == ProgramOutput::taken && ::pipe2(ends, O_CLOEXEC) != 0) return {};
  const UniqueFd near(ends[0]);
  UniqueFd far(ends[1]);
  const pid_t pid = spawn(argv, far.get());
  far.reset();
  if (pid < 0) return {};
  ProgramEnd end;
  if (near) end.output = read_all(near.get(), deadline);
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool in_time = process && readable(process.get(), deadline);
  if (!in_time) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (in_time) end.status = ExitStatus::from_wait_status(status);
  return end;
}

}  // namespace ds::launcher
