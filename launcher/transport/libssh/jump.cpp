// Runs the channels of a jump host's session.
#include "launcher/transport/libssh/jump.h"

namespace ds::launcher::libssh {

namespace {
constexpr int kPollsPerWake = 16;
}

void JumpSession::forward(const std::string& host, int port, std::function<void(Forwarded)> done) {
  std::weak_ptr<Session> weak = weak_from_this();
  auto forward = std::make_shared<Forward>(io_, host, port, std::move(done),
                                           [this, weak](std::shared_ptr<Forward> which) {
                                             const auto self = weak.lock();
                                             if (!self) return;
                                             attend_.insert(std::move(which));
                                             post_wake();
                                           });
  forwards_.insert(forward);
  attend_.insert(std::move(forward));
  post_wake();
}

bool JumpSession::proceed() {
  int polls = 0;
  int rc = SSH_OK;
  while (rc == SSH_OK && polls++ < kPollsPerWake && !dropped()) {
    attend_all();
    rc = ssh_event_dopoll(poll_, 0);
  }
  attend_all();
  if (dropped())
    fail(ChannelEnd::Kind::lost, stage::kRunning, "the ssh connection broke: " + error_text());
  return rc == SSH_OK && polls > kPollsPerWake;
}

void JumpSession::attend_all() {
  std::vector<std::shared_ptr<Forward>> again;
  for (const auto& forward : std::exchange(attend_, {})) {
    if (!forwards_.contains(forward)) continue;
    const Forward::Next next = forward->proceed(session_, last_number_);
    if (forward->has_answer()) answers_.push_back(forward);
    if (next == Forward::Next::attend) again.push_back(forward);
    if (next == Forward::Next::over) {
      forward->let_go();
      forwards_.erase(forward);
    }
  }
  attend_.insert(again.begin(), again.end());
}

void JumpSession::deliver() {
  if (!std::exchange(told_up_, true) && !dismissed()) events_.on_up();
  while (!answers_.empty() && !dismissed()) {
    const auto forward = answers_.front();
    answers_.erase(answers_.begin());
    forward->give_answer();
  }
}

void JumpSession::let_go() {
  attend_.clear();
  for (const auto& forward : forwards_) forward->let_go();
  forwards_.clear();
}

}  // namespace ds::launcher::libssh
