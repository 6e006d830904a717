// Starts programs by posix_spawn, and waits by a pidfd.
#include "launcher/transport/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

#include "engine/base/deadline.h"

namespace ds::launcher {

namespace {

constexpr int kSettlesWithinMs = 20;  // between the end of a program's socket and its own
constexpr int kDiesWithinMs = 1000;   // after KILL; only a stuck system takes longer
constexpr std::size_t kMostOutput = std::size_t{64} << 10;

/// State that its pending waits keep alive after the owner has dropped the process.
class Child final : public ChildProcess, public std::enable_shared_from_this<Child> {
 public:
  Child(asio::io_context& io, ChildEvents events, pid_t pid, int pidfd, int errors)
      : events_(std::move(events)), pid_(pid), exited_(io, pidfd), errors_(io, errors) {}

  void start() {
    read_errors();
    exited_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const asio::error_code& error) {
                         if (!error) self->reap();
                       });
  }

  void settle() override {
    pollfd entry{exited_.native_handle(), POLLIN, 0};
    if (pid_ > 0 && ::poll(&entry, 1, kSettlesWithinMs) > 0) reap();
  }

  void abandon() {
    events_ = {};
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      pollfd entry{exited_.native_handle(), POLLIN, 0};
      if (::poll(&entry, 1, kDiesWithinMs) > 0) (void)::waitpid(pid_, nullptr, WNOHANG);
      pid_ = 0;
    }
    asio::error_code ignored;
    exited_.close(ignored);
    errors_.close(ignored);
  }

 private:
  void read_errors() {
    errors_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const asio::error_code& error) {
                         if (!error && self->take_errors()) self->read_errors();
                       });
  }

  /// Returns false at the end of the pipe.
  bool take_errors() {
    std::array<char, 4096> buffer;
    while (errors_.is_open()) {
      const ssize_t count = ::read(errors_.native_handle(), buffer.data(), buffer.size());
      if (count == 0) return false;
      if (count < 0) return errno == EAGAIN || errno == EINTR;
      if (events_.on_stderr) events_.on_stderr({buffer.data(), static_cast<std::size_t>(count)});
    }
    return false;
  }

  void reap() {
    if (pid_ <= 0) return;
    const auto keep = shared_from_this();
    take_errors();
    if (pid_ <= 0) return;
    int status = 0;
    ::kill(-pid_, SIGKILL);  // a child it left behind would hold our pipes; the id is not reused
                             // before the wait
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
    pid_ = 0;
    asio::error_code ignored;
    errors_.close(ignored);
    if (const auto on_exit = std::move(events_.on_exit))
      on_exit(ExitStatus::from_wait_status(status));
  }

  ChildEvents events_;
  pid_t pid_;
  asio::posix::stream_descriptor exited_;
  asio::posix::stream_descriptor errors_;
};

/// Starts a program with these descriptors as its standard ones. Returns an error number; 0 if it
/// runs.
int spawn(const std::vector<std::string>& argv, int input, int output, int errors, pid_t& pid) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, input, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, 1);
  if (errors != 2) ::posix_spawn_file_actions_adddup2(&files, errors, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&pid, words[0], &files, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
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

StartedChild start_child(asio::io_context& io, const std::vector<std::string>& argv,
                         ChildEvents events) {
  const auto failed = [](const std::string& what, int error) {
    return StartedChild{{}, {}, what + ": " + std::strerror(error)};
  };
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("no socket", errno);
  UniqueFd near(ends[0]);
  const UniqueFd far(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe", errno);
  UniqueFd near_errors(ends[0]);
  const UniqueFd far_errors(ends[1]);
  ::fcntl(near.get(), F_SETFL, O_NONBLOCK);  // this end only: the program expects a blocking one
  ::fcntl(near_errors.get(), F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  if (const int error = spawn(argv, far.get(), far.get(), far_errors.get(), pid); error != 0)
    return failed(argv.front(), error);
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const int error = errno;
    ::kill(-pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
    return failed("no pidfd", error);
  }
  auto child = std::make_shared<Child>(io, std::move(events), pid, pidfd, near_errors.release());
  child->start();
  return {std::move(near), {child.get(), [child](ChildProcess*) { child->abandon(); }}, {}};
}

std::optional<ExitStatus> run_program(const std::vector<std::string>& argv,
                                      std::chrono::milliseconds limit, std::string* output) {
  const Deadline deadline = Deadline::after(limit);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2] = {-1, -1};
  if (!null || (output != nullptr && ::pipe2(ends, O_CLOEXEC) != 0)) return std::nullopt;
  const UniqueFd near(ends[0]);
  UniqueFd far(ends[1]);
  pid_t pid = -1;
  if (spawn(argv, null.get(), far ? far.get() : null.get(), 2, pid) != 0) return std::nullopt;
  far.reset();
  if (output != nullptr) *output = read_all(near.get(), deadline);
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const bool in_time = process && readable(process.get(), deadline);
  if (!in_time) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return in_time ? std::optional(ExitStatus::from_wait_status(status)) : std::nullopt;
}

}  // namespace ds::launcher
