#include "launcher/exec/fanout.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace ds::launcher::exec {

using namespace std::chrono_literals;
using Kind = NodeResult::Kind;
using Stage = Fleet::Stage;
using What = Fleet::News::What;

Fanout::Fanout(std::vector<std::string> names, ExecPolicy policy)
    : names_(std::move(names)),
      policy_(policy),
      fleet_({.node_timeout = policy.node_timeout, .start_timeout = policy.start_timeout}),
      results_(names_.size()) {
  for (std::size_t node = 0; node < names_.size(); ++node) fleet_.add(static_cast<int>(node));
}

std::vector<Action> Fanout::on(const Event& event, Clock::time_point now) {
  if (finished_) {
    output_gone_ |= std::holds_alternative<OutputClosed>(event);  // noticed after the end
    const auto* signal = std::get_if<SignalReceived>(&event);     // drops unread output
    if (signal != nullptr && signo_ == 0) signo_ = signal->signo;
    return {};
  }
  now_ = now;
  fleet_.set_now(now);
  std::visit(
      [this](const auto& known) {
        if constexpr (requires { handle(known); })
          handle(known);
        else
          fleet_.on(known);
      },
      event);
  settle();
  fleet_.take_actions(actions_);
  return std::exchange(actions_, {});
}

/// Decides once per event, from the marks that the event has set.
void Fanout::settle() {
  for (const Fleet::News& news : fleet_.take_news()) take(news);
  if (std::exchange(signaled_, false)) obey_signal();
  if (std::exchange(ends_, false) && !stopping_) stop_all();
  open_more();
  leave_when_done();
}

void Fanout::take(const Fleet::News& news) {
  switch (news.what) {
    case What::greeted:
      return fleet_.give_spec(news.agent, news.agent);
    case What::ready:
      started_ = true;
      fleet_.start(news.agent);
      if (policy_.command_timeout > 0ms) fleet_.limit_time(news.agent, policy_.command_timeout);
      return act(StartCommand{news.agent});
    case What::time_up:
      if (!fleet_.is_busy(news.agent)) return;  // lost at the same moment
      fleet_.stop(news.agent, policy_.grace);
      return set_result(news.agent, {.kind = Kind::timed_out});
    case What::left:
      if (stopping_) return set_result(news.agent, {.kind = Kind::not_started});
      return set_result(news.agent, {.kind = Kind::lost,
                                     .reason = "the agent exited before the command had ended"});
    case What::swept:
    case What::cleared:
      return;  // exec asks no agent to sweep or clear
    default:
      return node_lost(news);
  }
}

void Fanout::node_lost(const Fleet::News& news) {
  NodeResult& known = result(news.agent);
  // The output of a successful command is incomplete, or a stop at the time limit is unconfirmed.
  const bool ended_well = known.kind == Kind::exited && known.end.status.success();
  if (ended_well || known.kind == Kind::timed_out) known.kind = Kind::none;
  const std::string& name = names_[static_cast<std::size_t>(news.agent)];
  set_result(news.agent, {.kind = news.was == Stage::opening ? Kind::unreachable : Kind::lost,
                          .reason = loss_reason(news, name),
                          .stage = loss_stage(news)});
}

/// Keeps the first result of a node.
void Fanout::set_result(int node, NodeResult result) {
  NodeResult& known = this->result(node);
  if (known.kind != Kind::none) return;
  known = std::move(result);
  if (!policy_.stop_at_failure || stopping_ || ends_ || policy_.code_of(known) == 0) return;
  first_failure_ = node;
  ends_ = true;
}

int Fanout::exit_code() const {
  if (policy_.stopped_code != 0 && (signo_ == SIGINT || (signo_ == 0 && first_failure_)))
    return policy_.stopped_code;
  if (signo_ != 0) return 128 + signo_;
  if (output_gone_) return 128 + SIGPIPE;
  if (input_failed_) return 1;
  if (first_failure_) return policy_.code_of(results_[static_cast<std::size_t>(*first_failure_)]);
  int largest = 0;
  if (policy_.largest_code)
    for (const NodeResult& result : results_) largest = std::max(largest, policy_.code_of(result));
  return largest;
}

void Fanout::stop_all() {
  stopping_ = true;
  for (int node = 0; node < next_; ++node) {
    const Stage stage = fleet_.stage(node);
    if (stage == Stage::opening) {
      // An agent that has not sent its Hello ends by itself when its channel closes.
      set_result(node, {.kind = Kind::not_started});
      fleet_.close(node);
    } else if (stage == Stage::preparing) {
      fleet_.kill(node);
    } else if (stage == Stage::running && !fleet_.is_stopping(node)) {
      fleet_.stop(node, policy_.grace);
    }
  }
}

void Fanout::handle(const SignalReceived& event) {
  const bool again = asked_within(kAskAgain);
  if (event.signo == SIGTSTP && policy_.cancels && again && !stopping_) return cancel_waiting();
  if (event.signo == SIGTSTP) return fleet_.suspend();
  const bool asks = event.signo == SIGINT && policy_.interrupt_asks && !event.asked && !stopping_;
  // One key press may deliver the signal twice.
  if (asks && again && now_ < *asked_at_ + StopSignals::kSameKey) return;
  if (asks && !again) {
    asked_at_ = now_;
    return act(ListNodes{stages()});
  }
  if (!signals_.counts(event.signo, now_, event.asked)) return;
  if (signo_ == 0) signo_ = event.signo;
  signaled_ = true;
}

/// Handles a counted signal: the first stops, the second kills, the third abandons all nodes.
void Fanout::obey_signal() {
  if (!stopping_) return stop_all();
  for (int node = 0; node < next_; ++node) {
    const Stage stage = fleet_.stage(node);
    if (stage == Stage::gone || stage == Stage::queued) continue;
    if (signals_.count() <= 2) {
      if (fleet_.is_busy(node)) fleet_.kill(node);
      continue;
    }
    fleet_.close(node);
    if (result(node).kind == Kind::timed_out) result(node).kind = Kind::none;
    set_result(node,
               {.kind = Kind::lost,
                .reason = "left behind while it was stopping; check there for leftover processes"});
  }
}

/// Gives up the nodes whose commands have not started.
void Fanout::cancel_waiting() {
  Canceled canceled;
  for (int node = 0; node < fleet_.size(); ++node) {
    const Stage stage = fleet_.stage(node);
    if (stage == Stage::running || stage == Stage::gone) continue;
    ++canceled.nodes;
    set_result(node, {.kind = Kind::not_started});
    if (stage == Stage::opening) fleet_.close(node);
    if (stage == Stage::preparing) fleet_.kill(node);
  }
  next_ = fleet_.size();
  act(canceled);
}

std::vector<NodeStage> Fanout::stages() const {
  std::vector<NodeStage> stages;
  for (int node = 0; node < fleet_.size(); ++node) {
    const Stage stage = fleet_.stage(node);
    stages.push_back(stage == Stage::queued    ? NodeStage::waiting
                     : stage == Stage::running ? NodeStage::running
                     : stage == Stage::gone    ? NodeStage::gone
                                               : NodeStage::connecting);
  }
  return stages;
}

}  // namespace ds::launcher::exec
