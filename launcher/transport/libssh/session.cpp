// The life of a session: waits, deadlines, its end, and the way it is taken down.
#include "launcher/transport/libssh/session.h"

#include <fmt/format.h>
#include <libssh/server.h>  // ssh_send_keepalive
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <asio/buffer.hpp>
#include <asio/post.hpp>

#include "engine/base/error.h"

namespace ds::launcher::libssh {

namespace {

constexpr std::chrono::microseconds kNear{2000};

/// Whether a packet went there and back in next to no time when the socket was connected. Nothing
/// is known of the ways that are no TCP.
bool is_near(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         std::chrono::microseconds(info.tcpi_rtt) < kNear;
}

}  // namespace

void Session::start() {
  session_ = ssh_new();
  DS_ASSERT(session_ != nullptr, "ssh_new fails only without memory");
  const bool usable = set_options();
  wait_.assign(login_.socket.get());
  socket_.assign(login_.socket.get());
  let_server_begin();
  const int fd = login_.socket.get();  // ours until ssh_connect has taken it
  ssh_options_set(session_, SSH_OPTIONS_FD, &fd);
  ssh_set_blocking(session_, 0);
  limit_stage(stage::kKeyExchange, login_.limits.handshake);
  if (!usable) fail(ChannelEnd::Kind::unreachable, stage::kConfig, error_text());
  post_wake();
}

/// Servers greet at once; what waits for us to begin (a multiplexer of protocols) shall not wait
/// long. One far away hears us at once: its list of algorithms, which comes after our greeting,
/// would else be a round trip late.
void Session::let_server_begin() {
  if (!is_near(login_.socket.get())) return;
  socket_.let_server_begin();
  patience_.expires_after(login_.patience);
  patience_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->ended()) self->socket_.speak();
  });
}

void Session::limit_stage(const char* stage, std::chrono::milliseconds limit) {
  timer_.cancel();
  if (limit.count() == 0) return expect_life();
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this(), stage, limit](const asio::error_code& error) {
    if (error || self->ended()) return;
    self->fail(ChannelEnd::Kind::unreachable, stage,
               fmt::format("{} did not finish within {} s", stage,
                           std::chrono::duration<double>(limit).count()));
    self->hand_over();
  });
}

void Session::post_wake() {
  if (std::exchange(wake_posted_, true)) return;
  asio::post(io_, [self = shared_from_this()] {
    self->wake_posted_ = false;
    self->wake();
  });
}

void Session::wake() {
  if (session_ == nullptr) return;
  const auto keep = shared_from_this();  // an event may destroy the link
  bool more = false;
  {
    const SocketTurn turn(socket_);
    more = advance();
    hand_over();
    // What an event has had us send goes out together with what this turn sends.
    if (wake_posted_ && session_ != nullptr && !ended()) {
      more = advance() || more;
      hand_over();
    }
  }
  if (session_ == nullptr || ended()) return;
  if (state_ == State::auth || (up() && !std::exchange(acknowledges_, true))) acknowledge_at_once();
  if (more || socket_.owes(session_)) post_wake();
  arm();
}

/// sshd answers a login by two small packets (the service, then the key), and what follows it by
/// two more; the second waits for the first's acknowledgement, which our kernel would delay by 40
/// ms. Set after what we send: sending ends the kernel's haste.
void Session::acknowledge_at_once() const {
  const int on = 1;
  (void)::setsockopt(ssh_get_fd(session_), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void Session::arm() {
  const auto wait = [this](asio::posix::descriptor_base::wait_type type, bool& armed) {
    if (std::exchange(armed, true)) return;
    wait_.async_wait(type, [self = shared_from_this(), &armed](const asio::error_code& error) {
      armed = false;
      if (error) return;
      if (&armed == &self->read_armed_) {
        self->heard_ = true;
        self->socket_.now_readable();
      } else {
        self->socket_.now_writable();
      }
      self->wake();
    });
  };
  if (SocketTurn::reads_ahead()) {
    read();
  } else {
    wait(asio::posix::descriptor_base::wait_read, read_armed_);
  }
  if (socket_.wants_write(session_)) wait(asio::posix::descriptor_base::wait_write, write_armed_);
}

/// As a wait, but the event loop reads: it would tell the kernel of each wait anew.
void Session::read() {
  if (std::exchange(read_armed_, true)) return;
  socket_.leave_to_loop();
  wait_.async_read_some(
      asio::buffer(arrived_),
      [self = shared_from_this()](const asio::error_code& error, std::size_t count) {
        self->read_armed_ = count == 0;  // then nothing comes any more, however often it is asked
        if (error == asio::error::operation_aborted) return;
        self->heard_ = true;
        if (count > 0) {
          self->socket_.arrived({self->arrived_.data(), count}, count == self->arrived_.size());
        } else if (error && error != asio::error::eof) {
          self->socket_.broke(error.value());
        } else {
          self->socket_.now_readable();  // its end: libssh is told by reading it
        }
        self->wake();
      });
}

bool Session::dropped() const {
  // Some calls return SSH_AGAIN for ever after the server has hung up; only the status tells.
  return (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0 ||
         ssh_is_connected(session_) == 0;
}

std::string Session::error_text() const {
  const std::string text = ssh_get_error(session_);
  // libssh prints the last error number even where there was none.
  const bool says_nothing =
      text.empty() || text.ends_with("Success") || text.ends_with("disconnected");
  return says_nothing ? kHungUp : text;
}

/// True if there is more to do at once.
bool Session::advance() {
  while (state_ == State::handshake || state_ == State::auth) {
    if (!(state_ == State::handshake ? handshake() : authenticate())) return false;
  }
  return state_ == State::up && proceed();
}

void Session::logged_in() {
  state_ = State::up;
  poll_ = ssh_event_new();
  DS_ASSERT(poll_ != nullptr && ssh_event_add_session(poll_, session_) == SSH_OK);
  limit_stage("", {});
  begin();
}

/// ServerAliveInterval: a server that says nothing is asked, one that does not answer is lost.
void Session::expect_life() {
  if (!up() || login_.alive_interval.count() == 0 || login_.alive_count_max == 0) return;
  timer_.expires_after(login_.alive_interval);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (error || !self->up()) return;
    self->missed_ = std::exchange(self->heard_, false) ? 0 : self->missed_ + 1;
    if (self->missed_ > self->login_.alive_count_max) {
      self->fail(ChannelEnd::Kind::lost, stage::kRunning,
                 fmt::format("the server did not answer {} times (ServerAliveInterval {} s)",
                             self->login_.alive_count_max, self->login_.alive_interval.count()));
      return self->hand_over();
    }
    if (self->missed_ > 0) {
      const SocketTurn turn(self->socket_);
      ssh_send_keepalive(self->session_);
    }
    self->expect_life();
  });
}

void Session::fail(ChannelEnd::Kind kind, std::string stage, std::string reason, bool transient) {
  if (ended()) return;
  state_ = State::ended;
  timer_.cancel();
  end_ = SshLinkEnd{{kind, std::move(reason), std::move(stage)}, transient};
}

/// Hands everything to the owner, outside of libssh's callbacks: an event may destroy the link, and
/// a session must not be freed from inside its own callback.
void Session::hand_over() {
  const auto keep = shared_from_this();
  deliver();
  if (!end_ || dismissed_) return;
  dismiss();
  deliver_end(*end_);
}

void Session::release() {
  asio::error_code ignored;
  timer_.cancel(ignored);
  patience_.cancel(ignored);
  if (wait_.is_open()) wait_.release();  // before ssh_free: libssh closes the descriptor
  const SocketTurn turn(socket_);
  socket_.farewell();
  if (poll_ != nullptr) {
    ssh_event_remove_session(poll_, session_);
    ssh_event_free(std::exchange(poll_, nullptr));
  }
  let_go();
  // Not ssh_disconnect: it forgets a socket that it was given, open, and its poll handle too.
  if (session_ != nullptr) ssh_free(std::exchange(session_, nullptr));
  login_.socket.reset();
  state_ = State::ended;
}

}  // namespace ds::launcher::libssh
