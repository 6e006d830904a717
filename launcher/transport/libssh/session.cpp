// The life of a session: waits, deadlines, events to the owner, and the way it is taken down.
#include "launcher/transport/libssh/session.h"

#include <fmt/format.h>

#include <asio/post.hpp>

#include "engine/base/error.h"

namespace ds::launcher::libssh {

void Session::start() {
  session_ = ssh_new();
  DS_ASSERT(session_ != nullptr, "ssh_new fails only without memory");
  set_options();
  wait_.assign(setup_.socket.get());
  const int fd = setup_.socket.release();  // ssh_free closes it from here on
  ssh_options_set(session_, SSH_OPTIONS_FD, &fd);
  ssh_set_blocking(session_, 0);
  enter(Stage::handshake, setup_.limits.handshake);
  post_wake();
}

void Session::enter(Stage stage, std::chrono::milliseconds limit) {
  stage_ = stage;
  timer_.cancel();
  if (stage == Stage::running || stage == Stage::ended) return;
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this(), stage, limit](const asio::error_code& error) {
    if (error || self->stage_ != stage) return;
    self->fail(ChannelEnd::Kind::unreachable,
               fmt::format("{} did not finish within {} s", self->stage_name(),
                           std::chrono::duration<double>(limit).count()));
    self->deliver();
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
  advance();
  deliver();
  if (session_ == nullptr || stage_ == Stage::ended) return;
  if (more_) post_wake();
  arm();
}

void Session::arm() {
  const auto wait = [this](asio::posix::descriptor_base::wait_type type, bool& armed) {
    if (std::exchange(armed, true)) return;
    wait_.async_wait(type, [self = shared_from_this(), &armed](const asio::error_code& error) {
      armed = false;
      if (!error) self->wake();
    });
  };
  wait(asio::posix::descriptor_base::wait_read, read_armed_);
  if ((ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0)
    wait(asio::posix::descriptor_base::wait_write, write_armed_);
}

bool Session::dropped() const {
  // Some calls return SSH_AGAIN for ever after the server has hung up; only the status tells.
  return (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0 ||
         ssh_is_connected(session_) == 0;
}

std::string Session::error_text() const {
  const std::string text = ssh_get_error(session_);
  return text.empty() ? "the connection was closed" : text;
}

void Session::advance() {
  more_ = false;
  while (stage_ != Stage::ended) {
    const Stage before = stage_;
    int rc = SSH_ERROR;
    switch (stage_) {
      case Stage::handshake:
        rc = handshake();
        break;
      case Stage::auth:
        rc = authenticate();
        break;
      case Stage::channel:
        rc = open_channel();
        break;
      case Stage::exec:
        rc = exec();
        break;
      case Stage::running:
        rc = run();
        break;
      case Stage::ended:
        break;
    }
    if (stage_ == before && rc != SSH_OK) return;
  }
}

void Session::fail(ChannelEnd::Kind kind, std::string reason, bool transient) {
  if (stage_ == Stage::ended) return;
  enter(Stage::ended, {});
  end_ = SshLinkEnd{{kind, std::move(reason)}, transient};
}

/// Hands everything to the owner, outside of libssh's callbacks: an event may destroy the link, and
/// a session must not be freed from inside its own callback.
void Session::deliver() {
  const auto keep = shared_from_this();
  if (!inbox_.empty() && !dismissed_) {
    const Bytes bytes = std::move(inbox_);
    inbox_.clear();
    events_.on_bytes(bytes);
  }
  if (!noise_.empty() && !dismissed_) events_.on_noise(std::exchange(noise_, {}));
  if (!end_ || dismissed_) return;
  dismiss();
  events_.on_end(*end_);
}

void Session::release_channel() {
  if (poll_ != nullptr) {
    ssh_event_remove_session(poll_, session_);
    ssh_event_free(std::exchange(poll_, nullptr));
  }
  if (channel_ != nullptr) {
    ssh_remove_channel_callbacks(channel_, &callbacks_);
    ssh_channel_free(std::exchange(channel_, nullptr));
  }
}

void Session::release() {
  asio::error_code ignored;
  timer_.cancel(ignored);
  if (wait_.is_open()) wait_.release();  // before ssh_free: libssh closes the descriptor
  release_channel();
  if (session_ != nullptr) {
    ssh_disconnect(session_);
    ssh_free(std::exchange(session_, nullptr));
  }
  stage_ = Stage::ended;
}

}  // namespace ds::launcher::libssh
