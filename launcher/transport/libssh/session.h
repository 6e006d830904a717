// One libssh session, non-blocking, driven by the io_context: the stages from handshake to running
// command.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "launcher/transport/libssh/keyring.h"
#include "launcher/transport/ssh_link.h"

namespace ds::launcher::libssh {

/// The session behind a link. Kept alive by its pending waits; `dismiss` ends it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::io_context& io, Keyring& keyring, SshLinkSetup setup, SshLinkEvents events)
      : io_(io),
        keyring_(keyring),
        setup_(std::move(setup)),
        events_(std::move(events)),
        wait_(io),
        timer_(io) {}

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { release(); }

  void start();
  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  void pause(bool pause);
  void close();
  /// No event comes after this; the socket is closed.
  void dismiss() {
    dismissed_ = true;  // events_ stays: one of them may be the caller
    release();
  }

 private:
  enum class Stage { handshake, auth, channel, exec, running, ended };

  void set_options();
  void wake();
  void arm();
  void advance();
  int handshake();
  int authenticate();
  int try_identity(const SshIdentity& identity);
  int open_channel();
  int exec();
  int run();
  void enter(Stage stage, std::chrono::milliseconds limit);
  void flush();
  void drain();
  void deliver();
  void post_wake();
  void finish();
  void hear(std::string_view text);
  void run_fallback();
  void release_channel();
  void fail(ChannelEnd::Kind kind, std::string reason, bool transient = false);
  void release();
  [[nodiscard]] bool dropped() const;
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] std::string refusal_text();
  [[nodiscard]] const char* stage_name() const;

  static int on_data(ssh_session, ssh_channel, void* data, std::uint32_t count, int is_stderr,
                     void* self);
  static void on_exit_status(ssh_session, ssh_channel, int status, void* self);
  static void on_exit_signal(ssh_session, ssh_channel, const char* name, int core, const char* text,
                             const char* language, void* self);
  static void on_close(ssh_session, ssh_channel, void* self);

  asio::io_context& io_;
  Keyring& keyring_;
  SshLinkSetup setup_;
  SshLinkEvents events_;
  asio::posix::stream_descriptor wait_;  // only waits; libssh owns the descriptor
  asio::steady_timer timer_;
  ssh_session session_ = nullptr;
  ssh_channel channel_ = nullptr;
  ssh_event poll_ = nullptr;
  ssh_channel_callbacks_struct callbacks_{};
  Stage stage_ = Stage::handshake;
  std::size_t identity_ = 0;
  bool agent_attached_ = false;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool wake_posted_ = false;
  bool paused_ = false;
  bool dismissed_ = false;
  bool eof_wanted_ = false;
  bool eof_sent_ = false;
  bool channel_closed_ = false;
  bool more_ = false;      // the last run stopped before the socket was empty
  bool answered_ = false;  // the command has written its answer to its standard output
  std::string heard_;      // before that: the last of what came there
  std::optional<int> exit_status_;
  std::string exit_signal_;
  std::deque<Bytes> queue_;
  std::size_t queue_offset_ = 0;
  std::size_t unsent_ = 0;
  Bytes inbox_;
  std::string noise_;
  std::optional<SshLinkEnd> end_;
};

}  // namespace ds::launcher::libssh
