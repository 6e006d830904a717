// One libssh session, non-blocking, driven by the io_context: handshake, host key, authentication.
// What it is used for then is the derived class's.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "launcher/transport/libssh/keyring.h"
#include "launcher/transport/libssh/socket_turn.h"
#include "launcher/transport/ssh/ssh_link.h"

namespace ds::launcher::libssh {

/// Kept alive by its pending waits; `dismiss` ends it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;  // a derived class calls release() in its own

  void start();
  /// No event comes after this; the socket is closed.
  void dismiss() {
    dismissed_ = true;  // the events stay: one of them may be the caller
    release();
  }

 protected:
  static constexpr const char* kHungUp = "the server hung up";  // of error_text()

  Session(asio::io_context& io, Keyring& keyring, SshLogin login, SshLoginEvents events)
      : io_(io),
        keyring_(keyring),
        login_(std::move(login)),
        login_events_(std::move(events)),
        wait_(io),
        timer_(io),
        patience_(io) {}

  /// Once, when logged in: ssh_event_dopoll(poll_) works from here on.
  virtual void begin() = 0;
  /// Whenever something may have happened after that. True if it should be called again soon, so
  /// that others get their turn before.
  virtual bool proceed() = 0;
  /// Hands events to the owner, from outside of libssh's callbacks.
  virtual void deliver() = 0;
  virtual void deliver_end(const SshLinkEnd& end) = 0;
  /// Frees channels, before the session is.
  virtual void let_go() = 0;

  void post_wake();
  void release();
  void fail(ChannelEnd::Kind kind, std::string stage, std::string reason, bool transient = false);
  /// Ends the session with a failure if `stage` is still under way at that time; empty: no limit.
  void limit_stage(const char* stage, std::chrono::milliseconds limit);
  [[nodiscard]] bool ended() const { return state_ == State::ended; }
  [[nodiscard]] bool up() const { return state_ == State::up; }
  [[nodiscard]] bool dropped() const;
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] bool dismissed() const { return dismissed_; }

  asio::io_context& io_;
  Keyring& keyring_;
  SshLogin login_;
  ssh_session session_ = nullptr;
  ssh_event poll_ = nullptr;
  SessionSocket socket_;

 private:
  enum class State { handshake, auth, up, ended };

  bool set_options();
  void let_server_begin();
  void acknowledge_at_once() const;
  void wake();
  void hand_over();
  void arm();
  void read();
  bool advance();
  bool handshake();
  bool check_host_key();
  bool authenticate();
  void logged_in();
  int try_identity(const SshIdentity& identity);
  void expect_life();
  [[nodiscard]] std::string refusal_text();

  SshLoginEvents login_events_;
  asio::posix::stream_descriptor wait_;  // only waits; libssh owns the descriptor
  asio::steady_timer timer_;
  asio::steady_timer patience_;
  std::array<char, 1280> arrived_{};  // the longest of a login's answers
  State state_ = State::handshake;
  std::string shown_key_;  // the host's, as it came; only with a static libssh
  std::size_t identity_ = 0;
  int missed_ = 0;  // intervals of ServerAliveInterval without a byte
  bool agent_attached_ = false;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool wake_posted_ = false;
  bool dismissed_ = false;
  bool heard_ = false;
  bool acknowledges_ = false;
  std::optional<SshLinkEnd> end_;
};

}  // namespace ds::launcher::libssh
