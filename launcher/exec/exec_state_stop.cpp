// The part of ExecState that ends commands early: time is up, -k, signals, nobody reads.
#include <algorithm>
#include <csignal>
#include <utility>

#include "launcher/exec/exec_state.h"

namespace ds::launcher::exec {

using Kind = NodeResult::Kind;

void ExecState::stop_node(int index) {
  act(StopCommand{index, policy_.grace});
  set_due(node(index), NodeState::Due::kill, policy_.grace + kKillMargin);
}

void ExecState::kill_node(int index) {
  act(KillCommand{index});
  set_due(node(index), NodeState::Due::give_up, kGiveUpAfterKill);
}

void ExecState::stop_all() {
  stopping_ = true;
  start_by_.reset();
  for (int i = 0; i < next_; ++i) {
    const NodeState::Stage stage = node(i).stage;
    if (stage == NodeState::Stage::opening) {
      // An agent that has not greeted ends by itself when its channel closes.
      set_result(i, {.kind = Kind::not_started});
      node_gone(i);
    } else if (stage == NodeState::Stage::greeted) {
      kill_node(i);
    } else if (stage == NodeState::Stage::running && !is_stopping(node(i))) {
      stop_node(i);
    }
  }
}

void ExecState::handle(const GotSignal& event) {
  if (event.signo == SIGTSTP) return suspend();
  const bool asks = event.signo == SIGINT && policy_.interrupt_asks && !event.asked && !stopping_;
  if (asks && (!asked_at_ || now_ > *asked_at_ + kAskAgain)) {
    asked_at_ = now_;
    return act(Tell{"interrupt: once more within 1 s to stop all\n" + stages()});
  }
  if (signo_ == 0) signo_ = event.signo;
  ++signals_;
  if (!stopping_) return stop_all();
  for (int i = 0; i < next_; ++i) {
    const NodeState::Stage stage = node(i).stage;
    if (stage == NodeState::Stage::gone) continue;
    if (signals_ <= 2)
      kill_node(i);
    else
      handle(
          NodeLost{i, names_[static_cast<std::size_t>(i)] + ": left behind while it was stopping"});
  }
}

std::string ExecState::stages() const {
  std::vector<NodeStage> stages;
  for (const NodeState& node : nodes_) {
    switch (node.stage) {
      case NodeState::Stage::waiting:
        stages.push_back(NodeStage::waiting);
        break;
      case NodeState::Stage::opening:
      case NodeState::Stage::greeted:
        stages.push_back(NodeStage::connecting);
        break;
      case NodeState::Stage::running:
        stages.push_back(NodeStage::running);
        break;
      case NodeState::Stage::gone:
        stages.push_back(NodeStage::gone);
        break;
    }
  }
  return stages_text(names_, stages);
}

void ExecState::handle(const OutputGone&) {
  if (std::exchange(output_gone_, true) || stopping_) return;
  stop_all();
}

/// What agents say stands behind output that nobody reads yet.
void ExecState::handle(const OutputSlow&) {
  for (NodeState& node : nodes_) {
    node.last_heard = now_;
    if (is_stopping(node))
      node.due_at = std::max<Clock::time_point>(node.due_at, now_ + kGiveUpAfterKill);
  }
}

void ExecState::suspend() {
  if (std::exchange(suspended_, true)) return;
  suspended_at_ = now_;
  act(SuspendAll{});
  act(StopSelf{});
}

void ExecState::handle(const Resumed&) {
  if (!std::exchange(suspended_, false)) return;
  const auto pause = now_ - suspended_at_;
  if (start_by_) *start_by_ += pause;
  if (next_due_ != Clock::time_point::max()) next_due_ += pause;
  for (NodeState& node : nodes_) {
    node.due_at += pause;
    node.last_heard = now_;
  }
  next_beat_ = now_ + beat_period();
  act(ResumeAll{});
}

}  // namespace ds::launcher::exec
