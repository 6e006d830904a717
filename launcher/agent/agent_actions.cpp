// The agent does what its AgentState has decided.
#include "launcher/agent/agent_loop.h"

namespace ds::launcher {

void AgentLoop::tell(const AgentEvent& event) {
  for (const AgentAction& action : state_.on(event, Clock::now()))
    std::visit([this](const auto& a) { perform(a); }, action);
}

void AgentLoop::lose_root(const std::string& why) {
  if (!bad_since_) bad_since_ = Clock::now();
  tell(RootLost{why});
}

void AgentLoop::perform(const Send& action) {
  // The last frame must not overtake what the ranks wrote.
  const bool is_last = std::holds_alternative<Bye>(action.message) ||
                       std::holds_alternative<Cleared>(action.message);
  if (is_last) {
    channel_.send_last(envelope_, action.message);
  } else {
    channel_.send_control(envelope_, action.message);
  }
}

void AgentLoop::perform(const HoldPort&) {
  if (state_.spec()->hold_port) port_ = hold_free_port();
  tell(PortHeld{port_.port});
}

void AgentLoop::perform(const StartRanks& action) {
  started_ = true;
  ranks_.start(*state_.spec(), action.env, guard_.process());
}

void AgentLoop::perform(const SignalMains& action) {
  ranks_.order({ShimOrder::Kind::signal, action.signo});
}

void AgentLoop::perform(const KillRanks&) { ranks_.order({ShimOrder::Kind::kill, 0}); }

void AgentLoop::perform(const SuspendRanks&) { ranks_.order({ShimOrder::Kind::suspend, 0}); }

void AgentLoop::perform(const ResumeRanks&) { ranks_.order({ShimOrder::Kind::resume, 0}); }

void AgentLoop::perform(const KillStrays&) {
  kill_strays_ = true;
  if (!bad_since_) bad_since_ = Clock::now();
}

void AgentLoop::perform(const ForgetRanks&) {
  ranks_ = RankSet{};
  started_ = told_empty_ = killing_everything_ = kill_strays_ = false;
}

void AgentLoop::perform(const KillEverything&) {
  killing_everything_ = true;
  kill_children_until_none(
      Deadline::after(kKillLimit),
      [](void* self, pid_t pid, int) { static_cast<AgentLoop*>(self)->on_reaped(pid); }, this);
}

void AgentLoop::perform(const Finish& action) { exit_code_ = action.code; }

}  // namespace ds::launcher
