// The way of each node, and time.
#include "launcher/exec/exec_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/verdict.h"
#include "runner/contract.h"

namespace ds::launcher::exec {

using namespace std::chrono_literals;
using Kind = NodeResult::Kind;

ExecState::ExecState(std::vector<std::string> names, ExecPolicy policy)
    : names_(std::move(names)), policy_(policy), nodes_(names_.size()), results_(names_.size()) {}

std::vector<Action> ExecState::on(const Event& event, Clock::time_point now) {
  if (finished_) {
    output_gone_ |= std::holds_alternative<OutputGone>(event);  // found while the rest was written
    return {};
  }
  now_ = now;
  actions_.clear();
  std::visit([this](const auto& known) { handle(known); }, event);
  leave_when_done();
  return std::exchange(actions_, {});
}

Clock::time_point ExecState::wake_at() const {
  if (suspended_) return Clock::time_point::max();
  const Clock::time_point at = std::min(next_beat_, next_due_);
  return start_by_ ? std::min(at, *start_by_) : at;
}

std::string_view ExecState::phase_name() const {
  if (stopping_) return "stopping";
  return started_ ? "running" : "starting";
}

int ExecState::nodes_left() const {
  return static_cast<int>(std::ranges::count_if(
      nodes_, [](const NodeState& node) { return node.stage != NodeState::Stage::gone; }));
}

std::chrono::milliseconds ExecState::beat_period() const {
  // Several beats in a short timeout: one that is late must not lose a node.
  if (policy_.node_timeout <= 0ms) return kHeartbeat;
  return std::clamp<std::chrono::milliseconds>(policy_.node_timeout / 4, 10ms, kHeartbeat);
}

ExecState::NodeState& ExecState::node(int index) {
  DS_ASSERT(index >= 0 && index < size());
  return nodes_[static_cast<std::size_t>(index)];
}

// The way of one node.

void ExecState::handle(const Begin&) {
  next_beat_ = now_ + beat_period();
  open_more();
}

void ExecState::open_more() {
  while (!stopping_ && next_ < size() && (policy_.fanout == 0 || active_ < policy_.fanout)) {
    NodeState& node = this->node(next_);
    node.stage = NodeState::Stage::opening;
    node.last_heard = now_;
    ++active_;
    ++unready_;
    act(OpenNode{next_++});
  }
  node_progressed();
}

void ExecState::node_progressed() {
  start_by_.reset();
  if (unready_ > 0) start_by_ = now_ + policy_.start_timeout;
}

void ExecState::handle(const NodeGreeted& event) {
  NodeState& node = this->node(event.node);
  if (node.stage != NodeState::Stage::opening) return;
  node.stage = NodeState::Stage::greeted;
  node.last_heard = now_;
  node_progressed();
  act(SendCommand{event.node});
}

void ExecState::handle(const NodeReady& event) {
  NodeState& node = this->node(event.node);
  if (node.stage != NodeState::Stage::greeted) return;
  node.stage = NodeState::Stage::running;
  started_ = true;
  --unready_;
  node_progressed();
  if (policy_.command_timeout > 0ms) set_due(node, NodeState::Due::stop, policy_.command_timeout);
  act(StartCommand{event.node});
}

void ExecState::handle(const NodeHeard& event) { node(event.node).last_heard = now_; }

void ExecState::handle(const CommandEnded& event) {
  NodeState& node = this->node(event.node);
  if (node.stage != NodeState::Stage::running) return;
  // What it left behind, and the rest of its output, are the agent's to see to; silence is a loss.
  if (node.due == NodeState::Due::stop) node.due = NodeState::Due::nothing;
  set_result(event.node, {.kind = stopping_ ? Kind::stopped : Kind::exited, .end = event.end});
}

void ExecState::handle(const NodeDone& event) {
  if (node(event.node).stage == NodeState::Stage::gone) return;
  if (stopping_)
    set_result(event.node, {.kind = Kind::not_started});
  else
    set_result(event.node, {.kind = Kind::lost, .reason = "its agent ended without the command"});
  node_gone(event.node);
}

void ExecState::handle(const NodeLost& event) {
  NodeState& node = this->node(event.node);
  if (node.stage == NodeState::Stage::gone || node.stage == NodeState::Stage::waiting) return;
  NodeResult& result = results_[static_cast<std::size_t>(event.node)];
  // The command had ended well, but its output is not complete; or it was to stop, and who knows.
  const bool ended_well = result.kind == Kind::exited && result.end.status.success();
  if (ended_well || result.kind == Kind::timed_out) result.kind = Kind::none;
  const bool reached = node.stage != NodeState::Stage::opening;
  set_result(event.node, {.kind = reached ? Kind::lost : Kind::unreachable,
                          .reason = event.reason,
                          .stage = event.stage});
  node_gone(event.node);
}

/// The first that is known of a node counts.
void ExecState::set_result(int index, NodeResult result) {
  NodeResult& known = results_[static_cast<std::size_t>(index)];
  if (known.kind != Kind::none) return;
  known = std::move(result);
  if (!policy_.stop_at_failure || stopping_ || code_of(known) == 0) return;
  first_failure_ = index;
  stop_all();
}

void ExecState::node_gone(int index) {
  NodeState& node = this->node(index);
  if (node.stage == NodeState::Stage::gone) return;  // -k has closed it
  if (node.stage != NodeState::Stage::running) --unready_;
  node.stage = NodeState::Stage::gone;
  node.due = NodeState::Due::nothing;
  --active_;
  act(CloseNode{index});
  open_more();
}

void ExecState::leave_when_done() {
  if (finished_ || active_ > 0 || (next_ < size() && !stopping_)) return;
  for (int i = next_; i < size(); ++i) set_result(i, {.kind = Kind::not_started});
  finished_ = true;
  act(Leave{});
}

int ExecState::exit_code() const {
  if (signo_ != 0) return 128 + signo_;
  if (output_gone_) return 128 + SIGPIPE;
  if (first_failure_) return code_of(results_[static_cast<std::size_t>(*first_failure_)]);
  int largest = 0;
  if (policy_.largest_code)
    for (const NodeResult& result : results_) largest = std::max(largest, code_of(result));
  return largest;
}

// Time.

void ExecState::set_due(NodeState& node, NodeState::Due due, std::chrono::milliseconds after) {
  node.due = due;
  node.due_at = now_ + after;
  next_due_ = std::min(next_due_, node.due_at);
}

void ExecState::handle(const TimeCame&) {
  if (suspended_) return;
  if (now_ > wake_at() + kOwnStall)
    for (NodeState& node : nodes_) node.last_heard = now_;
  if (now_ >= next_beat_) {
    next_beat_ = now_ + beat_period();
    act(BeatAll{});
    drop_silent_nodes();
  }
  if (start_by_ && now_ >= *start_by_) {
    for (int i = 0, opened = next_; i < opened; ++i) {
      const auto stage = node(i).stage;
      if (stage == NodeState::Stage::opening || stage == NodeState::Stage::greeted)
        handle(
            NodeLost{i,
                     names_[static_cast<std::size_t>(i)] + ": " +
                         not_ready_text(stage == NodeState::Stage::greeted, policy_.start_timeout),
                     "agent start"});
    }
  }
  if (now_ < next_due_) return;
  next_due_ = Clock::time_point::max();
  for (int i = 0; i < next_; ++i) {
    const NodeState& node = this->node(i);
    if (node.due == NodeState::Due::nothing) continue;
    if (now_ >= node.due_at)
      perform_due(i);
    else
      next_due_ = std::min(next_due_, node.due_at);
  }
}

void ExecState::perform_due(int index) {
  switch (node(index).due) {
    case NodeState::Due::nothing:
      break;
    case NodeState::Due::stop:
      stop_node(index);
      set_result(index, {.kind = Kind::timed_out});
      break;
    case NodeState::Due::kill:
      kill_node(index);
      break;
    case NodeState::Due::give_up:
      handle(NodeLost{index, names_[static_cast<std::size_t>(index)] +
                                 ": did not answer in the end; see whether something still runs "
                                 "there"});
      break;
  }
}

void ExecState::drop_silent_nodes() {
  if (policy_.node_timeout <= 0ms) return;
  for (int i = 0; i < next_; ++i) {
    const NodeState& node = this->node(i);
    const bool talks =
        node.stage == NodeState::Stage::greeted || node.stage == NodeState::Stage::running;
    if (!talks || now_ < node.last_heard + policy_.node_timeout) continue;
    handle(NodeLost{
        i, fmt::format("{}: nothing heard for {:.3g} s", names_[static_cast<std::size_t>(i)],
                       std::chrono::duration<double>(policy_.node_timeout).count())});
  }
}

}  // namespace ds::launcher::exec
