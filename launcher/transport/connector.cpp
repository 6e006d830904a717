// Non-blocking connects with a stagger and a deadline.
#include "launcher/transport/connector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

namespace ds::launcher {

namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kStagger = 250ms;    // RFC 8305
constexpr int kDeadPeerMs = 10000;  // --node-timeout's default: a silent peer is lost after it

void set_option(int fd, int level, int name, int value) {
  // A kernel without one of these still works; the job's own heartbeats notice a lost node anyway.
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

void prepare(int fd) {
  (void)::fcntl(
      fd, F_SETFD,
      FD_CLOEXEC);  // libssh sets it nowhere: ranks of ours would inherit every connection
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kDeadPeerMs);
}

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(asio::io_context& io, std::vector<tcp::endpoint> addresses,
          std::function<void(Connected)> done)
      : io_(io),
        addresses_(std::move(addresses)),
        done_(std::move(done)),
        stagger_(io),
        limit_(io) {}

  void start(std::chrono::milliseconds limit) {
    limit_.expires_after(limit);
    limit_.async_wait([self = shared_from_this(), limit](const asio::error_code& error) {
      if (!error)
        self->give_up(
            fmt::format("no answer within {:.2g} s", std::chrono::duration<double>(limit).count()));
    });
    try_next();
  }

  void cancel() {
    done_ = nullptr;
    sockets_.clear();
    stagger_.cancel();
    limit_.cancel();
  }

 private:
  void try_next() {
    if (next_ == addresses_.size()) return;
    const tcp::endpoint endpoint = addresses_[next_++];
    auto socket = std::make_shared<tcp::socket>(io_);
    asio::error_code error;
    socket->open(endpoint.protocol(), error);
    ++pending_;
    if (error) {
      asio::post(io_, [self = shared_from_this(), socket, endpoint, error] {
        self->tried(socket, endpoint, error);
      });
    } else {
      prepare(socket->native_handle());
      sockets_.push_back(socket);
      socket->async_connect(
          endpoint, [self = shared_from_this(), socket, endpoint](const asio::error_code& result) {
            self->tried(socket, endpoint, result);
          });
    }
    if (next_ < addresses_.size()) {
      stagger_.expires_after(kStagger);
      stagger_.async_wait([self = shared_from_this()](const asio::error_code& result) {
        if (!result && self->done_) self->try_next();
      });
    }
  }

  void tried(const std::shared_ptr<tcp::socket>& socket, const tcp::endpoint& endpoint,
             const asio::error_code& error) {
    if (!done_) return;
    --pending_;
    if (!error) {
      socket->non_blocking(true);
      finish({UniqueFd(socket->release()), address_text(endpoint), {}, false});
      return;
    }
    transient_ = error == asio::error::connection_reset || error == asio::error::connection_aborted;
    problems_ += fmt::format("{}{}: {}", problems_.empty() ? "" : ", ", address_text(endpoint),
                             error.message());
    if (next_ < addresses_.size()) {
      stagger_.cancel();
      try_next();
    } else if (pending_ == 0) {
      finish({UniqueFd(), {}, problems_, transient_});
    }
  }

  void give_up(const std::string& why) {
    if (done_) finish({UniqueFd(), {}, problems_.empty() ? why : problems_ + ", " + why, false});
  }

  void finish(Connected result) {
    const auto done = std::move(done_);
    cancel();
    done(std::move(result));
  }

  asio::io_context& io_;
  std::vector<tcp::endpoint> addresses_;
  std::function<void(Connected)> done_;
  asio::steady_timer stagger_;
  asio::steady_timer limit_;
  std::vector<std::shared_ptr<tcp::socket>> sockets_;
  std::size_t next_ = 0;
  int pending_ = 0;
  bool transient_ = false;
  std::string problems_;
};

class Handle final : public ConnectAttempt {
 public:
  explicit Handle(std::shared_ptr<Attempt> attempt) : attempt_(std::move(attempt)) {}
  ~Handle() override { attempt_->cancel(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  std::shared_ptr<Attempt> attempt_;
};

}  // namespace

std::string address_text(const tcp::endpoint& endpoint) { return endpoint.address().to_string(); }

std::unique_ptr<ConnectAttempt> connect_any(asio::io_context& io,
                                            std::vector<tcp::endpoint> addresses,
                                            std::chrono::milliseconds limit,
                                            std::function<void(Connected)> done) {
  auto attempt = std::make_shared<Attempt>(io, std::move(addresses), std::move(done));
  attempt->start(limit);
  return std::make_unique<Handle>(std::move(attempt));
}

}  // namespace ds::launcher
