// From a logged-in session to a running command.
#include "launcher/transport/libssh/command.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"

namespace ds::launcher::libssh {

void CommandSession::begin() {
  stage_ = Stage::channel;
  limit_stage(stage::kStart, login_.limits.command);
  channel_ = ssh_channel_new(session_);
  DS_ASSERT(channel_ != nullptr, "ssh_channel_new fails only without memory");
  callbacks_.userdata = this;
  callbacks_.channel_data_function = on_data;
  callbacks_.channel_exit_status_function = on_exit_status;
  callbacks_.channel_exit_signal_function = on_exit_signal;
  callbacks_.channel_close_function = on_close;
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_, &callbacks_);
}

bool CommandSession::proceed() {
  if (stage_ == Stage::channel && !open_channel()) return false;
  if (stage_ == Stage::exec && !exec()) return false;
  return stage_ == Stage::running && run();
}

bool CommandSession::open_channel() {
  int rc = ssh_channel_open_session(channel_);
  if (rc == SSH_AGAIN && ask_early())
    rc = ssh_channel_open_session(channel_);  // that may have read
  if (rc == SSH_AGAIN && !dropped()) return false;
  if (rc != SSH_OK && !has_run()) {
    fail(ChannelEnd::Kind::unreachable, stage::kStart, no_channel_text());
    return false;
  }
  stage_ = Stage::exec;
  return true;
}

/// The command goes along with the request for its channel: a round trip and a packet less. It has
/// to name the channel by the server's number, which the server tells only then; OpenSSH counts
/// from 0, and libssh writes 0 until it knows. True if it was sent now.
bool CommandSession::ask_early() {
  if (std::exchange(first_asked_, true) || ssh_get_openssh_version(session_) == 0) return false;
  exec_rc_ = ssh_channel_request_exec(channel_, command_.line.c_str());
  return true;
}

std::string CommandSession::no_channel_text() const {
  const std::string why = error_text();
  if (why == kHungUp) return "the server hung up when it was asked to run a command";
  // sshd hangs up over an early command for a channel that it did not open: its reason is gone.
  const bool reason_gone = why.find("unknown channel") != std::string::npos;
  return fmt::format("the server refused a channel{}: its MaxSessions, or a limit of the account?",
                     reason_gone ? "" : " (" + why + ")");
}

/// A short command that was asked for early may be over, with its channel, before libssh has told
/// that the channel was there.
bool CommandSession::has_run() const {
  return channel_closed_ || exit_status_ || !inbox_.empty() || !noise_.empty();
}

bool CommandSession::exec() {
  const int rc =
      exec_rc_ == SSH_OK ? SSH_OK : ssh_channel_request_exec(channel_, command_.line.c_str());
  if (rc == SSH_AGAIN && !dropped()) return false;
  if (rc != SSH_OK && !has_run()) {
    fail(ChannelEnd::Kind::no_agent, stage::kStart,
         "the server would not run a command: " + error_text());
    return false;
  }
  stage_ = Stage::running;
  limit_stage("", {});
  opened_ = true;
  return true;
}

void CommandSession::deliver() {
  if (opened_ && !std::exchange(told_open_, true) && !dismissed()) events_.on_open();
  if (copy_wanted_ && !std::exchange(told_copy_wanted_, true) && !dismissed())
    events_.on_copy_wanted();
  if (copy_ && answered_ && !std::exchange(told_copied_, true) && !dismissed()) events_.on_copied();
  if (!inbox_.empty() && !dismissed()) {
    const Bytes bytes = std::move(inbox_);
    inbox_.clear();
    events_.on_bytes(bytes);
  }
  if (!noise_.empty() && !dismissed()) events_.on_noise(std::exchange(noise_, {}));
}

void CommandSession::let_go() {
  if (channel_ == nullptr) return;
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(std::exchange(channel_, nullptr));
}

}  // namespace ds::launcher::libssh
