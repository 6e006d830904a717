// One libssh session, non-blocking, driven by the io_context, up to the login: key exchange, host
// key, authentication. Derived classes use it afterwards. Also the entries of the keyring.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/freed.h"
#include "launcher/transport/ssh/ssh_link.h"

namespace ds::launcher {

using SshKey = std::unique_ptr<ssh_key_struct, Freed<ssh_key_free>>;

struct SshKeyring::Entry {
  Status status;
  SshKey key;
};

namespace libssh {

/// Returns the public half in base64, as in known_hosts and authorized_keys; empty if libssh fails.
std::string public_base64(ssh_key key);

/// Kept alive by its pending waits; `dismiss` ends it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::io_context& io, SshKeyring& keyring, SshLogin login, SshEvents events)
      : io_(io),
        login_(std::move(login)),
        events_(std::move(events)),
        keyring_(keyring),
        wait_(io),
        timer_(io) {}
  virtual ~Session() = default;  // derived classes call release() in theirs

  void start();
  /// No event comes after this; the socket is closed.
  void dismiss() {
    dismissed_ = true;  // the events stay, because one of them may be the caller
    release();
  }

 protected:
  static constexpr const char* kHungUp = "the server hung up";  // of error_text()

  /// Called once, after the login: ssh_event_dopoll(poll_) works from then on.
  virtual void begin() = 0;
  /// Called whenever something may have happened after that. Returns true to be called again soon,
  /// after other sessions.
  virtual bool proceed() = 0;
  /// Frees channels, before the session is freed.
  virtual void let_go() = 0;

  void post_wake();
  /// Queues a call of an event of the owner: it may destroy the link, and a session must not be
  /// freed inside a callback of libssh.
  void tell(std::function<void()> event) { due_.push_back(std::move(event)); }
  void release();
  void fail(ChannelEnd::Kind kind, std::string stage, std::string reason, bool transient = false);
  /// Ends the session with a failure if `stage` takes longer than `limit`; 0: no limit.
  void limit_stage(const char* stage, std::chrono::milliseconds limit);
  [[nodiscard]] bool ended() const { return state_ == State::ended; }
  [[nodiscard]] bool up() const { return state_ == State::up; }
  [[nodiscard]] bool dropped() const;
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] bool dismissed() const { return dismissed_; }

  asio::io_context& io_;
  SshLogin login_;
  SshEvents events_;
  ssh_session session_ = nullptr;
  ssh_event poll_ = nullptr;

 private:
  enum class State { handshake, auth, up, ended };

  bool set_options();
  void acknowledge_at_once() const;
  void wake();
  void hand_over();
  void arm();
  bool handshake();
  bool check_host_key();
  bool authenticate();
  void logged_in();
  int try_identity(const SshIdentity& identity);
  void expect_life();
  [[nodiscard]] std::string banner_text() const;
  [[nodiscard]] std::string refusal_text();

  SshKeyring& keyring_;
  asio::posix::stream_descriptor wait_;  // only to wait; libssh owns the descriptor
  asio::steady_timer timer_;
  State state_ = State::handshake;
  std::size_t identity_ = 0;
  int missed_ = 0;  // intervals of ServerAliveInterval without a byte
  bool agent_attached_ = false;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool wake_posted_ = false;
  bool dismissed_ = false;
  bool heard_ = false;
  bool acknowledges_ = false;
  std::deque<std::function<void()>> due_;
  std::optional<SshLinkEnd> end_;
};

}  // namespace libssh
}  // namespace ds::launcher
