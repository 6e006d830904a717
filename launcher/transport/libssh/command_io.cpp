// Bytes of the running command in both directions, and how its end is judged.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/transport/libssh/command.h"

namespace ds::launcher::libssh {

namespace {
constexpr std::size_t kHeardKept = 4096;
constexpr std::size_t kPacket = 32768;  // what OpenSSH takes in one
constexpr int kPollsPerWake = 64;  // libssh reads 4 KiB a poll; others get their turn after 256 KiB
}  // namespace

/// Handles what has arrived. Only ssh_event_dopoll reads on after end-of-file: calls that read the
/// channel would stop there and lose the exit status behind it.
bool CommandSession::run() {
  int polls = 0;
  int rc = SSH_OK;
  while (rc == SSH_OK && polls++ < kPollsPerWake && !channel_closed_ && !dropped()) {
    flush();
    rc = ssh_event_dopoll(poll_, 0);
  }
  flush();
  if (channel_closed_ || dropped()) finish();
  return rc == SSH_OK && polls > kPollsPerWake;
}

void CommandSession::flush() {
  if (copy_ && !answered_) return send_copy();
  while (!queue_.empty() && !channel_closed_) {
    const Bytes& bytes = queue_.front();
    const int count = ssh_channel_write(channel_, bytes.data() + queue_offset_,
                                        static_cast<std::uint32_t>(bytes.size() - queue_offset_));
    if (count <= 0) return;  // no window, a key exchange under way, or a loss that run() notices
    queue_offset_ += static_cast<std::size_t>(count);
    unsent_ -= static_cast<std::size_t>(count);
    if (queue_offset_ < bytes.size()) continue;
    queue_.pop_front();
    queue_offset_ = 0;
  }
  if (eof_wanted_ && !eof_sent_ && queue_.empty() && !channel_closed_)
    eof_sent_ = ssh_channel_send_eof(channel_) != SSH_AGAIN;
}

/// Nothing goes behind the program before it answers: whatever reads it there may read ahead.
void CommandSession::send_copy() {
  while (may_copy_ && copied_ < copy_->size() && !channel_closed_) {
    const std::size_t size = std::min(copy_->size() - copied_, kPacket);
    const int count =
        ssh_channel_write(channel_, copy_->data() + copied_, static_cast<std::uint32_t>(size));
    if (count <= 0) return;
    copied_ += static_cast<std::size_t>(count);
  }
}

/// Takes what libssh kept in the channel's buffers while reading was paused.
void CommandSession::drain() {
  std::byte buffer[16384];
  for (const int is_stderr : {0, 1}) {
    int count = 0;
    while ((count = ssh_channel_read_nonblocking(channel_, buffer, sizeof buffer, is_stderr)) > 0)
      on_data(session_, channel_, buffer, static_cast<std::uint32_t>(count), is_stderr, this);
  }
}

void CommandSession::finish() {
  if (paused_) return;  // bytes may wait in the channel; pause(false) comes back here
  drain();
  if (!channel_closed_ && !exit_status_) {
    fail(ChannelEnd::Kind::lost, stage::kRunning, "the ssh connection broke: " + error_text());
  } else if (!exit_signal_.empty()) {
    fail(ChannelEnd::Kind::lost, stage::kRunning,
         fmt::format("the remote command was killed by SIG{}", exit_signal_));
  } else if (exit_status_.value_or(0) != 0 && !answered_ && !command_.fallback.empty()) {
    run_instead(std::exchange(command_.fallback, {}));
  } else if (exit_status_ == 127 && !answered_ && run_copy()) {
    // Its end is judged when it comes.
  } else if (exit_status_ == 127 || exit_status_ == 126 ||
             (exit_status_.value_or(0) != 0 && !answered_)) {
    // What it said went to on_noise; the command itself is ours and would only hide it.
    fail(ChannelEnd::Kind::no_agent, stage::kStart,
         fmt::format("no agent could be started there: the remote command ended with status {}",
                     *exit_status_));
  } else if (!answered_ && !command_.answer.empty() && !eof_wanted_) {
    fail(ChannelEnd::Kind::no_agent, stage::kStart,
         "no agent could be started there: something else ran in its place (a forced command of "
         "the site that leaves $SSH_ORIGINAL_COMMAND out, or a start-up file of the login shell "
         "that ends it?)");
  } else {
    fail(ChannelEnd::Kind::closed, "", "");
  }
}

/// There is no dslaunch on the node. False if it shall not get one, or has been tried.
bool CommandSession::run_copy() {
  if (!command_.copy) return false;
  const std::optional<AgentCopy> copy = std::exchange(command_.copy, {})();
  if (!copy) return false;
  copy_ = copy->bytes;
  run_instead(copy->command);
  return true;
}

/// A command has ended without an answer: the next one gets a channel of its own. What was sent to
/// the first is gone; before an agent's answer that is nothing but heartbeats.
void CommandSession::run_instead(std::string line) {
  let_go();
  command_.line = std::move(line);
  exec_rc_ = SSH_AGAIN;
  exit_status_.reset();
  channel_closed_ = false;
  eof_sent_ = false;
  noise_.clear();  // the shell's words about the first one
  heard_.clear();
  begin();
  post_wake();
}

void CommandSession::hear(std::string_view text) {
  heard_.append(text);
  answered_ = heard_.find(command_.answer) != std::string::npos;
  copy_wanted_ = copy_wanted_ || (copy_ && heard_.find(kCopyWish) != std::string::npos);
  if (answered_) heard_ = {};
  if (heard_.size() > kHeardKept) heard_.erase(0, heard_.size() - kHeardKept);
}

void CommandSession::send(Bytes bytes) {
  if (bytes.empty() || session_ == nullptr) return;
  unsent_ += bytes.size();
  // Small messages of one turn travel as one packet.
  if (!queue_.empty() && queue_.back().size() + bytes.size() <= kPacket) {
    queue_.back().insert(queue_.back().end(), bytes.begin(), bytes.end());
  } else {
    queue_.push_back(std::move(bytes));
  }
  post_wake();
}

void CommandSession::pause(bool pause) {
  paused_ = pause;
  if (pause || session_ == nullptr || stage_ != Stage::running || ended()) return;
  const SocketTurn turn(socket_);
  drain();
  post_wake();
}

void CommandSession::copy_now() {
  may_copy_ = true;
  if (session_ != nullptr) post_wake();
}

void CommandSession::close() {
  eof_wanted_ = true;
  if (session_ != nullptr) post_wake();
}

int CommandSession::on_data(ssh_session, ssh_channel, void* data, std::uint32_t count,
                            int is_stderr, void* user) {
  auto* self = static_cast<CommandSession*>(user);
  if (is_stderr != 0) {
    self->noise_.append(static_cast<const char*>(data), count);
  } else {
    if (self->paused_)
      return 0;  // stays in the channel's buffer; the window closes and pushes back
    const auto* bytes = static_cast<const std::byte*>(data);
    self->inbox_.insert(self->inbox_.end(), bytes, bytes + count);
    if (!self->answered_) self->hear({reinterpret_cast<const char*>(bytes), count});
  }
  return static_cast<int>(count);
}

void CommandSession::on_exit_status(ssh_session, ssh_channel, int status, void* user) {
  static_cast<CommandSession*>(user)->exit_status_ = status;
}

void CommandSession::on_exit_signal(ssh_session, ssh_channel, const char* name, int, const char*,
                                    const char*, void* user) {
  static_cast<CommandSession*>(user)->exit_signal_ = name == nullptr ? "?" : name;
}

void CommandSession::on_close(ssh_session, ssh_channel, void* user) {
  static_cast<CommandSession*>(user)->channel_closed_ = true;
}

}  // namespace ds::launcher::libssh
