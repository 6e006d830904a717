// Moves bytes of the running command, and decides what follows its end: success, another command, a
// failure.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "launcher/transport/libssh/command.h"
#include "launcher/wire/build_line.h"

namespace ds::launcher::libssh {

namespace {
constexpr std::size_t kHeardKept = 4096;
constexpr std::size_t kShownId = 12;    // digits of a build id
constexpr std::size_t kPacket = 32768;  // the largest that OpenSSH accepts
constexpr const char* kUsedAnyway = "; it is used anyway";
constexpr int kPollsPerWake = 64;  // libssh reads 4 KiB a poll, so other sessions run after 256 KiB
}  // namespace

/// Handles what has arrived. Only ssh_event_dopoll reads on after end-of-file. Calls that read the
/// channel stop there and lose the exit status, which comes after it.
bool CommandSession::run() {
  int polls = 0;
  int rc = SSH_OK;
  while (rc == SSH_OK && polls++ < kPollsPerWake && !channel_closed_ && !dropped() &&
         unfit_.empty()) {
    flush();
    rc = ssh_event_dopoll(poll_, 0);
  }
  flush();
  if (!unfit_.empty() && run_copy(std::exchange(unfit_, {}))) return false;
  if (channel_closed_ || dropped()) finish();
  return rc == SSH_OK && polls > kPollsPerWake;
}

void CommandSession::flush() {
  if (copy_ && !answered_) return send_copy();
  while (!queue_.empty() && !channel_closed_) {
    const std::span<const std::byte> bytes = queue_.front();
    const int count =
        ssh_channel_write(channel_, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
    if (count <= 0) return;  // no window, a key exchange, or a broken connection that run() notices
    queue_.sent(static_cast<std::size_t>(count));
  }
  if (eof_wanted_ && !eof_sent_ && queue_.empty() && !channel_closed_)
    eof_sent_ = ssh_channel_send_eof(channel_) != SSH_AGAIN;
}

/// Sends only the program until it answers, because the reader there may read ahead.
void CommandSession::send_copy() {
  while (may_copy_ && copied_ < copy_->size() && !channel_closed_) {
    const std::size_t size = std::min(copy_->size() - copied_, kPacket);
    const int count =
        ssh_channel_write(channel_, copy_->data() + copied_, static_cast<std::uint32_t>(size));
    if (count <= 0) return;
    copied_ += static_cast<std::size_t>(count);
  }
}

void CommandSession::finish() {
  if (!channel_closed_ && !exit_status_) {
    fail(ChannelEnd::Kind::lost, stage::kRunning, "the ssh connection broke: " + error_text());
  } else if (missing_answer() && !command_.fallback_command.empty()) {
    run_instead(std::exchange(command_.fallback_command, {}));
  } else if (missing_answer() && run_copy(unfit_program())) {
    // The copy's end is judged when it comes.
  } else if (!exit_signal_.empty()) {
    fail(ChannelEnd::Kind::lost, stage::kRunning,
         fmt::format("the remote command was killed by SIG{}", exit_signal_));
  } else if (exit_status_ == 127 || exit_status_ == 126 ||
             (exit_status_.value_or(0) != 0 && !answered_)) {
    // The command's standard error went to on_noise. The command is not shown, because
    // dslaunch always sends the same command.
    fail(ChannelEnd::Kind::no_agent, stage::kStart,
         fmt::format("no agent could be started there: the remote command ended with status {}",
                     *exit_status_));
  } else if (!answered_ && !command_.answer.empty() && !eof_wanted_) {
    fail(ChannelEnd::Kind::no_agent, stage::kStart,
         "no agent could be started there: another program ran instead (possibly a forced command "
         "without $SSH_ORIGINAL_COMMAND, or a start-up file of the login shell that exits)");
  } else {
    fail(ChannelEnd::Kind::closed, "", "");
  }
}

/// Whether the command ended without starting an agent. A closed standard input excuses one that
/// ended well.
bool CommandSession::missing_answer() const {
  if (answered_) return false;
  return exit_status_.value_or(0) != 0 || !exit_signal_.empty() ||
         (!command_.answer.empty() && !eof_wanted_);
}

/// Describes the program on the node that ended without an answer; empty if none was found.
std::string CommandSession::unfit_program() const {
  const std::string path = found_program();
  if (path.empty()) return {};
  const std::string end = exit_signal_.empty()
                              ? fmt::format("exit status {}", exit_status_.value_or(0))
                              : "killed by SIG" + exit_signal_;
  return fmt::format("{} there is not a working dslaunch ({})", path, end);
}

/// Returns the path after kFoundMark in the output of the command; empty if there is none.
std::string CommandSession::found_program() const {
  const std::size_t begin = heard_.rfind(kFoundMark);
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + kFoundMark.size();
  return printable_text(heard_.substr(from, heard_.find('\n', from) - from), 200);
}

void CommandSession::warn(const std::string& text) {
  tell([this, text] { events_.on_warning(text); });
}

/// Called when the command has answered. Has it replaced if it is another build of dslaunch.
void CommandSession::judge_build() {
  const std::optional<std::string> id = build_id_in(heard_);
  if (command_.build.empty() || copy_ || id == command_.build) return;
  std::string path = found_program();
  std::string text = fmt::format(
      "{} there is {}, this one is build {}", path.empty() ? "dslaunch" : path,
      id ? "build " + id->substr(0, kShownId) : "an older one that does not name its build",
      command_.build.substr(0, kShownId));
  if (command_.copy)
    unfit_ = std::move(text);
  else
    warn(text + kUsedAnyway);
}

/// Limits the time until the answer: another program of that name may wait for input forever.
void CommandSession::expect_answer() {
  answer_awaited_ = true;
  pause_.expires_after(login_.limits.command);
  pause_.async_wait([weak = weak_from_this(), this](const asio::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || session_ == nullptr || ended() || answered_ || !command_.copy) return;
    unfit_ = fmt::format("{} there did not answer within {} s", found_program(),
                         std::chrono::duration<double>(login_.limits.command).count());
    post_wake();
  });
}

/// Runs a copy of this program instead of `found`, which may be empty. False if there is none, or
/// one has been tried.
bool CommandSession::run_copy(const std::string& found) {
  if (!command_.copy) return false;
  const std::optional<AgentCopy> copy = std::exchange(command_.copy, {})();
  if (!copy) {
    if (answered_) {
      warn(found + kUsedAnyway);
      tell(events_.on_answered);
    }
    return false;
  }
  replaced_ = !found.empty();
  if (replaced_)
    warn(found + "; this program is used from ~/.cache/dslaunch there (disable with --push never)");
  copy_ = copy->bytes;
  run_instead(copy->command);
  return true;
}

/// Runs another command on a new channel. Bytes that were sent to the first one are lost; before an
/// agent's answer those are only heartbeats.
void CommandSession::run_instead(std::string line) {
  let_go();
  command_.remote_command = std::move(line);
  further_ = true;
  exit_status_.reset();
  exit_signal_.clear();
  channel_closed_ = false;
  if (std::exchange(answered_, false)) inbox_.clear();  // of an agent that is replaced
  eof_sent_ = false;
  noise_.clear();  // the shell's messages about the first one
  heard_.clear();
  begin();
  post_wake();
}

void CommandSession::hear(std::string_view text) {
  heard_.append(text);
  answered_ = heard_.find(command_.answer) != std::string::npos;
  if (copy_ && !copy_wanted_ && heard_.find(kCopyRequest) != std::string::npos) {
    copy_wanted_ = true;
    if (!replaced_)
      warn(
          "no dslaunch there; copying this program to ~/.cache/dslaunch (disable with --push "
          "never)");
    tell(events_.on_copy_wanted);
  }
  if (answered_) {
    judge_build();
    pause_.cancel();
    if (unfit_.empty()) tell(events_.on_answered);  // else run_copy() does, if there is no copy
    heard_ = {};
  } else if (command_.copy && !answer_awaited_ && !found_program().empty()) {
    expect_answer();
  }
  if (heard_.size() > kHeardKept) heard_.erase(0, heard_.size() - kHeardKept);
}

void CommandSession::send(Bytes bytes) {
  if (bytes.empty() || session_ == nullptr) return;
  // Small messages of one turn of the event loop are sent as one packet.
  queue_.add(std::move(bytes), kPacket);
  post_wake();
}

void CommandSession::send_shared(SharedBytes bytes) {
  if (session_ == nullptr) return;
  queue_.add(std::move(bytes));
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

void CommandSession::take(bool is_stderr, std::string_view text) {
  if (inbox_.empty() && noise_.empty()) tell([this] { deliver_bytes(); });
  if (is_stderr) {
    noise_.append(text);
    return;
  }
  const auto bytes = std::as_bytes(std::span(text));
  inbox_.insert(inbox_.end(), bytes.begin(), bytes.end());
  if (!answered_) hear(text);
}

void CommandSession::deliver_bytes() {
  const Bytes bytes = std::exchange(inbox_, {});
  const std::string noise = std::exchange(noise_, {});
  if (!bytes.empty()) events_.on_bytes(bytes);
  if (!noise.empty() && !dismissed()) events_.on_noise(noise);
}

}  // namespace ds::launcher::libssh
