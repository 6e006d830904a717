// Forks one guard per channel and reaps it through its pidfd.
#include "launcher/transport/local_transport.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <deque>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "launcher/agent/link.h"
#include "launcher/agent/process_settings.h"

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

/// State that its pending waits keep alive after the owner has dropped the channel.
class LocalLink : public std::enable_shared_from_this<LocalLink> {
 public:
  LocalLink(asio::io_context& io, std::string host, ChannelEvents events)
      : host_(std::move(host)), events_(std::move(events)), socket_(io), guard_(io), timer_(io) {}

  void start() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw_errno("cannot make a socket for the agent of this machine", errno);
    UniqueFd mine(ends[0]);
    const UniqueFd theirs(ends[1]);
    pid_ = fork_guard(theirs.get());
    process_ = ProcessRef::of(pid_);
    socket_.assign(asio::local::stream_protocol(), mine.release());
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd >= 0) guard_.assign(pidfd);
    read();
  }

  void fail(std::string reason) {
    asio::post(socket_.get_executor(), [self = shared_from_this(), reason = std::move(reason)] {
      self->end({ChannelEnd::Kind::no_agent, self->host_ + ": " + reason});
    });
  }

  void send(Bytes bytes) {
    unsent_ += bytes.size();
    queue_.push_back(std::move(bytes));
    if (queue_.size() == 1) write();
  }
  [[nodiscard]] std::size_t unsent() const { return unsent_; }

  void close() {
    closing_ = true;
    if (queue_.empty()) shutdown();
  }

  /// Called when the owner has dropped the channel. The agent sees its end and stops the ranks.
  void abandon() {
    events_ = {};
    // A stopped guard outlives its agent, and no other process watches the guard.
    if (process_.state() == ProcessRef::State::stopped) process_.kill();
    asio::error_code ignored;
    socket_.close(ignored);
    guard_.close(ignored);
    timer_.cancel();
  }

 private:
  void read() {
    if (ended_ || !socket_.is_open()) return;
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](asio::error_code error, std::size_t count) {
                              self->on_read(error, count);
                            });
  }

  void on_read(asio::error_code error, std::size_t count) {
    if (!events_.on_end) return;
    if (count > 0 && events_.on_bytes) events_.on_bytes(std::span(buffer_).first(count));
    if (!error) read();
    if (error) wait_for_guard();
  }

  void write() {
    // The queue is written in order; its front stays until it is written completely.
    socket_.async_send(asio::buffer(queue_.front().data() + sent_, queue_.front().size() - sent_),
                       [self = shared_from_this()](asio::error_code error, std::size_t count) {
                         self->on_written(error, count);
                       });
  }

  void on_written(asio::error_code error, std::size_t count) {
    if (error || queue_.empty()) {
      queue_.clear();
      unsent_ = 0;
      return;  // The reader sees the end as well.
    }
    unsent_ -= count;
    sent_ += count;
    if (sent_ == queue_.front().size()) {
      sent_ = 0;
      queue_.pop_front();
    }
    if (!queue_.empty()) return write();
    if (closing_) shutdown();
  }

  void shutdown() {
    asio::error_code ignored;
    socket_.shutdown(asio::local::stream_protocol::socket::shutdown_send, ignored);
  }

  /// Called when the agent has closed its end. Its guard then kills what is left, and exits.
  void wait_for_guard() {
    if (!guard_.is_open()) return on_guard_ended();
    timer_.expires_after(kGuardEndsWithin);
    timer_.async_wait([self = shared_from_this()](asio::error_code error) {
      if (!error)
        self->end(
            {ChannelEnd::Kind::lost, self->host_ + ": processes of the job cannot be killed"});
    });
    guard_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](asio::error_code error) {
                        if (!error) self->on_guard_ended();
                      });
  }

  void on_guard_ended() {
    timer_.cancel();
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) status = 0;
    const ExitStatus how = ExitStatus::from_wait_status(status);
    if (how.success()) return end({ChannelEnd::Kind::closed, {}});
    end({ChannelEnd::Kind::lost,
         fmt::format("{}: the agent was lost ({})", host_, how.describe())});
  }

  void end(const ChannelEnd& how) {
    if (std::exchange(ended_, true)) return;
    const auto on_end = std::move(events_.on_end);
    abandon();
    if (on_end) on_end(how);
  }

  std::string host_;  // for messages
  ChannelEvents events_;
  asio::local::stream_protocol::socket socket_;
  asio::posix::stream_descriptor guard_;
  asio::steady_timer timer_;
  pid_t pid_ = 0;
  ProcessRef process_;
  std::array<std::byte, 256 * 1024> buffer_;
  std::deque<Bytes> queue_;
  std::size_t sent_ = 0;
  std::size_t unsent_ = 0;
  bool closing_ = false;
  bool ended_ = false;
};

class LocalChannel : public Channel {
 public:
  explicit LocalChannel(std::shared_ptr<LocalLink> link) : link_(std::move(link)) {}
  ~LocalChannel() override { link_->abandon(); }
  LocalChannel(const LocalChannel&) = delete;
  LocalChannel& operator=(const LocalChannel&) = delete;
  void send(Bytes bytes) override { link_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return link_->unsent(); }
  void close() override { link_->close(); }

 private:
  std::shared_ptr<LocalLink> link_;
};

class LocalTransport : public Transport {
 public:
  explicit LocalTransport(asio::io_context& io) : io_(io) {}
  std::unique_ptr<Channel> open(const Host& host, ChannelEvents events) override {
    auto link = std::make_shared<LocalLink>(io_, host.name, std::move(events));
    try {
      link->start();
    } catch (const Error& error) {
      link->fail(error.what());
    }
    return std::make_unique<LocalChannel>(std::move(link));
  }

 private:
  asio::io_context& io_;
};

}  // namespace

std::unique_ptr<Transport> make_local_transport(asio::io_context& io) {
  return std::make_unique<LocalTransport>(io);
}

}  // namespace ds::launcher
