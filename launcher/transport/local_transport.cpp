// Forks one guard per channel and reaps it through its pidfd.
#include "launcher/transport/local_transport.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "launcher/agent/link.h"
#include "launcher/agent/process_settings.h"
#include "launcher/transport/stream_channel.h"

namespace ds::launcher {
namespace {

/// A guard ends at once after its agent, unless the system is stuck.
constexpr std::chrono::seconds kGuardEndsWithin{30};

bool has_other_threads() {
  std::size_t threads = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    ++threads;
  return threads > 1;
}

/// Runs in the child. Returns only if exec fails.
void exec_agent(int socket) {
  ::dup2(socket, 0);
  ::dup2(socket, 1);
  sigset_t none;
  ::sigemptyset(&none);
  forget_handlers();
  restore_signals(none);
  give_back_open_files();
  ::execl("/proc/self/exe", "dslaunch", "agent", nullptr);
}

pid_t fork_guard(int socket) {
  const bool must_exec = has_other_threads();
  const ProcessRef root = ProcessRef::of(::getpid());
  const sigset_t old = block_all_signals();
  const pid_t pid = ::fork();
  if (pid == 0) {
    int code = 1;
    try {
      if (must_exec) {
        exec_agent(socket);
      } else {
        code = run_guard(socket, socket, root);
      }
    } catch (...) {  // The root sees the end of the channel.
    }
    ::_exit(code);
  }
  const int fork_error = errno;
  restore_signals(old);
  if (pid < 0) throw_errno("cannot start the agent of this machine", fork_error, "see `ulimit -u`");
  return pid;
}

class LocalChannel final : public StreamChannel {
 public:
  LocalChannel(asio::io_context& io, const std::string& host_name, ChannelEvents events)
      : StreamChannel(io, host_name, std::move(events)), guard_(io) {
    try {
      start();
    } catch (const Error& error) {
      asio::post(io, [this, life = std::weak_ptr(events_), reason = std::string(error.what())] {
        if (!life.expired()) end(ChannelEnd::Kind::no_agent, "", reason);
      });
    }
  }
  /// The agent sees the end of its socket and stops the ranks.
  ~LocalChannel() override {
    // A stopped guard outlives its agent, and no other process watches the guard.
    if (process_.state() == ProcessRef::State::stopped) process_.kill();
  }

 private:
  void start() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw_errno("cannot make a socket for the agent of this machine", errno);
    UniqueFd mine(ends[0]);
    const UniqueFd theirs(ends[1]);
    pid_ = fork_guard(theirs.get());
    process_ = ProcessRef::of(pid_);
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd >= 0) guard_.assign(pidfd);
    attach(std::move(mine));
  }

  /// Called when the agent has closed its end. The guard then kills what is left, and exits.
  void on_eof() override {
    if (!guard_.is_open()) return on_guard_ended();
    after(kGuardEndsWithin,
          [this] { end(ChannelEnd::Kind::lost, "", "processes of the job cannot be killed"); });
    guard_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this, life = std::weak_ptr(events_)](const asio::error_code& error) {
                        if (!error && !life.expired()) on_guard_ended();
                      });
  }

  void on_guard_ended() {
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) status = 0;
    const ExitStatus how = ExitStatus::from_wait_status(status);
    if (how.success()) return end(ChannelEnd::Kind::closed, "", {});
    end(ChannelEnd::Kind::lost, "", fmt::format("the agent was lost ({})", how.describe()));
  }

  asio::posix::stream_descriptor guard_;
  pid_t pid_ = 0;
  ProcessRef process_;
};

class LocalTransport : public Transport {
 public:
  explicit LocalTransport(asio::io_context& io) : io_(io) {}
  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    return std::make_unique<LocalChannel>(io_, host.name, std::move(events));
  }

 private:
  asio::io_context& io_;
};

}  // namespace

std::unique_ptr<Transport> make_local_transport(asio::io_context& io) {
  return std::make_unique<LocalTransport>(io);
}

}  // namespace ds::launcher
