// A session with one channel that runs one command.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "launcher/transport/libssh/session.h"

namespace ds::launcher::libssh {

class CommandSession final : public Session {
 public:
  CommandSession(asio::io_context& io, Keyring& keyring, SshLogin login, SshCommand command,
                 SshLinkEvents events)
      : Session(io, keyring, std::move(login), std::move(events.login)),
        command_(std::move(command)),
        events_(std::move(events)) {}
  CommandSession(const CommandSession&) = delete;
  CommandSession& operator=(const CommandSession&) = delete;
  ~CommandSession() override { release(); }

  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  void pause(bool pause);
  void copy_now();
  void close();

 private:
  enum class Stage { none, channel, exec, running };

  void begin() override;
  bool proceed() override;
  void deliver() override;
  void deliver_end(const SshLinkEnd& end) override { events_.on_end(end); }
  void let_go() override;
  bool open_channel();
  bool ask_early();
  [[nodiscard]] std::string no_channel_text() const;
  [[nodiscard]] bool has_run() const;
  bool exec();
  bool run();
  void flush();
  void drain();
  void finish();
  bool run_copy();
  void run_instead(std::string line);
  void send_copy();
  void hear(std::string_view text);

  static int on_data(ssh_session, ssh_channel, void* data, std::uint32_t count, int is_stderr,
                     void* self);
  static void on_exit_status(ssh_session, ssh_channel, int status, void* self);
  static void on_exit_signal(ssh_session, ssh_channel, const char* name, int core, const char* text,
                             const char* language, void* self);
  static void on_close(ssh_session, ssh_channel, void* self);

  SshCommand command_;
  SshLinkEvents events_;
  ssh_channel channel_ = nullptr;
  ssh_channel_callbacks_struct callbacks_{};
  Stage stage_ = Stage::none;
  bool first_asked_ = false;  // for the session's first channel
  int exec_rc_ = SSH_AGAIN;   // of a command that was asked for before the channel was there
  bool paused_ = false;
  bool opened_ = false;  // on_open is due or done
  bool told_open_ = false;
  bool eof_wanted_ = false;
  bool eof_sent_ = false;
  bool channel_closed_ = false;
  bool answered_ = false;              // the command has written its answer to its standard output
  std::shared_ptr<const Bytes> copy_;  // of the program, for the command that asks for it
  std::size_t copied_ = 0;
  bool copy_wanted_ = false;
  bool told_copy_wanted_ = false;
  bool may_copy_ = false;
  bool told_copied_ = false;
  std::string heard_;  // before that: the last of what came there
  std::optional<int> exit_status_;
  std::string exit_signal_;
  std::deque<Bytes> queue_;
  std::size_t queue_offset_ = 0;
  std::size_t unsent_ = 0;
  Bytes inbox_;
  std::string noise_;
};

}  // namespace ds::launcher::libssh
