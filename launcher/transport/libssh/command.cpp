// Opens the channel of a logged-in session and starts its command.
#include "launcher/transport/libssh/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher::libssh {

namespace {
constexpr int kMostRefusals = 60;
constexpr std::chrono::milliseconds kRefusalPause{50};
}  // namespace

void CommandSession::begin() {
  stage_ = Stage::channel;
  limit_stage(stage::kStart, login_.limits.command);
  channel_ = ssh_channel_new(session_);
  DS_ASSERT(channel_ != nullptr, "ssh_channel_new fails only without memory");
  callbacks_.userdata = this;
  callbacks_.channel_data_function = [](ssh_session, ssh_channel, void* data, std::uint32_t count,
                                        int is_stderr, void* self) {
    static_cast<CommandSession*>(self)->take(is_stderr != 0, {static_cast<char*>(data), count});
    return static_cast<int>(count);
  };
  callbacks_.channel_exit_status_function = [](ssh_session, ssh_channel, int status, void* self) {
    static_cast<CommandSession*>(self)->exit_status_ = status;
  };
  callbacks_.channel_exit_signal_function = [](ssh_session, ssh_channel, const char* name, int,
                                               const char*, const char*, void* self) {
    static_cast<CommandSession*>(self)->exit_signal_ = name == nullptr ? "?" : name;
  };
  callbacks_.channel_close_function = [](ssh_session, ssh_channel, void* self) {
    static_cast<CommandSession*>(self)->channel_closed_ = true;
  };
  ssh_callbacks_init(&callbacks_);
  ssh_set_channel_callbacks(channel_, &callbacks_);
}

bool CommandSession::proceed() {
  if (stage_ == Stage::waiting) {
    ssh_event_dopoll(poll_, 0);  // else the loop wakes for the same bytes again
    return false;
  }
  if (stage_ == Stage::channel && !open_channel()) return false;
  if (stage_ == Stage::exec && !exec()) return false;
  return stage_ == Stage::running && run();
}

bool CommandSession::open_channel() {
  const int rc = ssh_channel_open_session(channel_);
  if (rc == SSH_AGAIN && !dropped()) return false;
  if (rc != SSH_OK) {
    if (!open_again()) fail(ChannelEnd::Kind::unreachable, stage::kStart, no_channel_text());
    return false;
  }
  stage_ = Stage::exec;
  return true;
}

/// sshd counts the channel of the command before until it has cleared up behind it: with
/// MaxSessions 1 it refuses the next one for a moment. False if the refusal stands.
bool CommandSession::open_again() {
  if (!further_ || dropped() || ++refusals_ > kMostRefusals) return false;
  let_go();
  stage_ = Stage::waiting;
  pause_.expires_after(kRefusalPause);
  pause_.async_wait([weak = weak_from_this(), this](const asio::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || session_ == nullptr || ended()) return;
    begin();
    post_wake();
  });
  return true;
}

std::string CommandSession::no_channel_text() const {
  const std::string why = error_text();
  if (why == kHungUp) return "the server hung up when it was asked to run a command";
  // "Channel opening failure: channel 43 error (1) open failed": the end is the server's.
  const std::size_t code = why.find(" error (");
  const std::size_t end = why.find(") ", std::min(code, why.size()));
  return fmt::format(
      "the server refused a channel: {}; check MaxSessions in its sshd_config and the account's "
      "limits",
      end == std::string::npos ? why : why.substr(end + 2));
}

/// Whether the command has run: a short one may end before libssh reports that it was started.
bool CommandSession::has_run() const {
  return channel_closed_ || exit_status_ || !inbox_.empty() || !noise_.empty();
}

bool CommandSession::exec() {
  const int rc = ssh_channel_request_exec(channel_, command_.remote_command.c_str());
  if (rc == SSH_AGAIN && !dropped()) return false;
  if (rc != SSH_OK && !has_run()) {
    fail(ChannelEnd::Kind::no_agent, stage::kStart,
         "the server would not run a command: " + error_text());
    return false;
  }
  stage_ = Stage::running;
  limit_stage("", {});
  if (!std::exchange(opened_, true)) tell(events_.on_up);
  return true;
}

void CommandSession::let_go() {
  pause_.cancel();
  if (channel_ == nullptr) return;
  ssh_remove_channel_callbacks(channel_, &callbacks_);
  ssh_channel_free(std::exchange(channel_, nullptr));
}

}  // namespace ds::launcher::libssh

namespace ds::launcher {

std::shared_ptr<SshLink> make_ssh_link(asio::io_context& io, SshKeyring& keyring, SshLogin login,
                                       SshCommand command, SshEvents events) {
  auto session = std::make_shared<libssh::CommandSession>(io, keyring, std::move(login),
                                                          std::move(command), std::move(events));
  session->start();
  return {session.get(), [session](SshLink*) { session->dismiss(); }};
}

}  // namespace ds::launcher
