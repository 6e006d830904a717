// Session that runs commands, one channel at a time.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "launcher/transport/libssh/session.h"

namespace ds::launcher::libssh {

class CommandSession final : public Session, public SshLink {
 public:
  CommandSession(asio::io_context& io, SshKeyring& keyring, SshLogin login, SshCommand command,
                 SshEvents events)
      : Session(io, keyring, std::move(login), std::move(events)),
        command_(std::move(command)),
        pause_(io) {}
  ~CommandSession() override { release(); }

  void send(Bytes bytes) override;
  void send_shared(SharedBytes bytes) override;
  [[nodiscard]] std::size_t unsent() const override { return queue_.size(); }
  void copy_now() override;
  void close() override;

 private:
  enum class Stage { none, channel, waiting, exec, running };

  void begin() override;
  bool proceed() override;
  void let_go() override;
  bool open_channel();
  [[nodiscard]] std::string no_channel_text() const;
  [[nodiscard]] bool has_run() const;
  bool exec();
  bool run();
  void flush();
  void finish();
  [[nodiscard]] bool missing_answer() const;
  bool run_copy(const std::string& found);
  [[nodiscard]] std::string found_program() const;
  [[nodiscard]] std::string unfit_program() const;
  void warn(const std::string& text);
  void judge_build();
  void expect_answer();
  bool open_again();
  void run_instead(std::string line);
  void send_copy();
  void hear(std::string_view text);
  void take(bool is_stderr, std::string_view text);
  void deliver_bytes();

  SshCommand command_;
  ssh_channel channel_ = nullptr;
  ssh_channel_callbacks_struct callbacks_{};
  Stage stage_ = Stage::none;
  bool opened_ = false;  // on_up was queued
  bool eof_wanted_ = false;
  bool eof_sent_ = false;
  bool channel_closed_ = false;
  bool answered_ = false;              // the command has written its answer
  std::shared_ptr<const Bytes> copy_;  // the program, for a node that asks for it
  std::size_t copied_ = 0;
  bool copy_wanted_ = false;
  bool may_copy_ = false;
  bool replaced_ = false;  // the copy runs instead of a program that was found
  std::string unfit_;      // why the command that answered is to be replaced
  int refusals_ = 0;       // of a channel for a further command
  bool answer_awaited_ = false;
  bool further_ = false;      // the command is not the session's first
  asio::steady_timer pause_;  // before a channel is asked for again; an answer is overdue
  std::string heard_;         // the last bytes of standard output before the answer
  std::optional<int> exit_status_;
  std::string exit_signal_;
  SendQueue queue_;
  Bytes inbox_;
  std::string noise_;
};

}  // namespace ds::launcher::libssh
