// Waits, deadlines and the end of a session.
#include "launcher/transport/libssh/session.h"

#include <fmt/format.h>
#include <libssh/server.h>  // ssh_send_keepalive
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <asio/post.hpp>

#include "engine/base/error.h"

namespace ds::launcher::libssh {

void Session::start() {
  session_ = ssh_new();
  DS_ASSERT(session_ != nullptr, "ssh_new fails only without memory");
  const bool usable = set_options();
  wait_.assign(login_.socket.get());
  const int fd = login_.socket.get();  // ours until ssh_connect takes it
  ssh_options_set(session_, SSH_OPTIONS_FD, &fd);
  ssh_set_blocking(session_, 0);
  limit_stage(stage::kKeyExchange, login_.limits.handshake);
  if (!usable) fail(ChannelEnd::Kind::unreachable, stage::kConfig, error_text());
  post_wake();
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
  while (state_ == State::handshake ? handshake() : state_ == State::auth && authenticate()) {
  }
  const bool more = up() && proceed();
  hand_over();
  if (session_ == nullptr || ended()) return;
  if (state_ == State::auth || (up() && !std::exchange(acknowledges_, true))) acknowledge_at_once();
  if (more) post_wake();
  arm();
}

/// Sets TCP_QUICKACK. sshd answers a login by two small packets, and what follows it by two more.
/// The second waits for the acknowledgement of the first (Nagle), which our kernel would delay by
/// 40 ms. Called after each turn, because sending resets the option.
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
      if (&armed == &self->read_armed_) self->heard_ = true;
      self->wake();
    });
  };
  wait(asio::posix::descriptor_base::wait_read, read_armed_);
  if ((ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0)
    wait(asio::posix::descriptor_base::wait_write, write_armed_);
}

bool Session::dropped() const {
  // After the server has hung up, some calls return SSH_AGAIN forever; only the status shows it.
  return (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0 ||
         ssh_is_connected(session_) == 0;
}

std::string Session::error_text() const {
  const std::string text = ssh_get_error(session_);
  // libssh prints the last errno even if there was no error.
  const bool says_nothing =
      text.empty() || text.ends_with("Success") || text.ends_with("disconnected");
  return says_nothing ? kHungUp : text;
}

void Session::logged_in() {
  state_ = State::up;
  poll_ = ssh_event_new();
  DS_ASSERT(poll_ != nullptr && ssh_event_add_session(poll_, session_) == SSH_OK);
  limit_stage("", {});
  begin();
}

/// ServerAliveInterval: sends a request to a silent server, and fails if it does not answer.
void Session::expect_life() {
  const auto interval = login_.settings->server_alive_interval;
  const int most = login_.settings->server_alive_count_max;
  if (!up() || interval.count() == 0 || most == 0) return;
  timer_.expires_after(interval);
  timer_.async_wait([self = shared_from_this(), interval, most](const asio::error_code& error) {
    if (error || !self->up()) return;
    self->missed_ = std::exchange(self->heard_, false) ? 0 : self->missed_ + 1;
    if (self->missed_ > most) {
      self->fail(ChannelEnd::Kind::lost, stage::kRunning,
                 fmt::format("the server did not answer {} times (ServerAliveInterval {} s)", most,
                             interval.count()));
      return self->hand_over();
    }
    if (self->missed_ > 0) ssh_send_keepalive(self->session_);
    self->expect_life();
  });
}

void Session::fail(ChannelEnd::Kind kind, std::string stage, std::string reason, bool transient) {
  if (ended()) return;
  state_ = State::ended;
  timer_.cancel();
  end_ = SshLinkEnd{{kind, std::move(reason), std::move(stage)}, transient};
}

void Session::hand_over() {
  const auto keep = shared_from_this();
  while (!due_.empty() && !dismissed_) {
    const auto event = std::move(due_.front());
    due_.pop_front();
    event();
  }
  if (!end_ || dismissed_) return;
  dismiss();
  events_.on_end(*end_);
}

void Session::release() {
  asio::error_code ignored;
  timer_.cancel(ignored);
  if (wait_.is_open()) wait_.release();  // before ssh_free: libssh closes the descriptor
  if (poll_ != nullptr) {
    ssh_event_remove_session(poll_, session_);
    ssh_event_free(std::exchange(poll_, nullptr));
  }
  let_go();
  // ssh_disconnect is not called: it leaks the socket that it was given, and its poll handle.
  if (session_ != nullptr) ssh_free(std::exchange(session_, nullptr));
  login_.socket.reset();
  state_ = State::ended;
}

}  // namespace ds::launcher::libssh
