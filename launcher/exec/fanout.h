// Policy of `dslaunch exec`: turns events of many nodes into actions; performs nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/exec/results.h"
#include "launcher/fleet/fleet.h"
#include "launcher/fleet/stop_signals.h"

namespace ds::launcher::exec {

struct ExecPolicy {
  int fanout = 0;                                   // nodes at the same time; 0: all
  std::chrono::milliseconds command_timeout{0};     // -u; 0: none
  std::chrono::milliseconds grace{5'000};           // between TERM and KILL
  std::chrono::milliseconds node_timeout{8'000};    // silence after which a node is lost; 0: never
  std::chrono::milliseconds start_timeout{40'000};  // without progress of any node
  bool stop_at_failure = false;                     // -k
  bool largest_code = false;                        // -S
  bool interrupt_asks = false;  // first interrupt lists the nodes; second within 1 s stops
  bool cancels = false;  // TSTP within 1 s of that interrupt gives up nodes that do not run yet
  int stopped_code = 0;  // exit code after an interrupt or with stop_at_failure; 0: its own
  std::function<int(const NodeResult&)> code_of = exec::code_of;  // for largest_code
};

// Events and actions in addition to fleet_events.h. Agents have the numbers of their nodes.
struct CommandEnded {
  int node = 0;
  RankEnd end{};
};
struct InputFailed {};  // standard input cannot be read or kept
using Event =
    std::variant<Start, AgentGreeted, AgentReady, AgentHeard, AgentDone, AgentLost, CommandEnded,
                 SignalReceived, Continued, OutputHeld, OutputClosed, InputFailed, Tick>;

struct StartCommand {
  int node = 0;
};
struct ListNodes {  // an interrupt asks for it
  std::vector<NodeStage> stages{};
};
struct Canceled {  // nodes that were given up before they ran
  int nodes = 0;
};
struct Leave {};  // the last action: results() and exit_code() are final
using Action = std::variant<OpenAgent, SendSpec, StartCommand, StopAgent, KillAgent, SendSweep,
                            DismissAgent, CloseAgent, SendHeartbeats, SuspendAgents, SuspendSelf,
                            ResumeAgents, ListNodes, Canceled, Leave>;

/// Policy of one `dslaunch exec`.
/// Promise: nodes are independent: each runs to its end as fast as it can, and a failure stops
///          other nodes only with `stop_at_failure`. Leave comes exactly once, when every node has
///          ended or is given up.
/// Design:  as JobState: an event sets marks, settle() decides.
/// Threads: one.   Errors: none; late events are ignored.
class Fanout {
 public:
  Fanout(std::vector<std::string> names, ExecPolicy policy);

  /// Order:   the caller performs the actions in the order of the list.
  std::vector<Action> on(const Event& event, Clock::time_point now);

  /// Returns when the next Tick is due; sometimes too early.
  [[nodiscard]] Clock::time_point wake_at() const {
    return finished_ ? Clock::time_point::max() : fleet_.wake_at();
  }
  [[nodiscard]] bool finished() const { return finished_; }
  /// Returns whether a signal, -k or closed output stops all nodes; slow readers are then given up.
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] const std::vector<NodeResult>& results() const { return results_; }
  /// Returns "starting", "running", "stopping" or "finished".
  [[nodiscard]] std::string_view phase_name() const {
    return finished_ ? "finished" : stopping_ ? "stopping" : started_ ? "running" : "starting";
  }
  /// Returns the number of nodes that have not ended.
  [[nodiscard]] int nodes_left() const { return fleet_.left() + fleet_.size() - next_; }
  [[nodiscard]] bool is_running(int node) const {
    return fleet_.stage(node) == Fleet::Stage::running;
  }
  /// Returns the signal that stopped the command; 0 if none did.
  [[nodiscard]] int signo() const { return signo_; }
  /// Returns the node that stopped the others with stop_at_failure.
  [[nodiscard]] std::optional<int> first_failure() const { return first_failure_; }
  void set_grace(std::chrono::milliseconds grace) { policy_.grace = grace; }
  [[nodiscard]] int exit_code() const;

 private:
  static constexpr std::chrono::seconds kAskAgain{1};

  void settle();
  void handle(const Start&) { fleet_.begin(); }
  void handle(const CommandEnded& event) {
    if (!is_running(event.node)) return;
    // The agent cleans up leftover processes and sends the remaining output in bounded time.
    if (!fleet_.is_stopping(event.node)) fleet_.expect_end(event.node, policy_.grace);
    set_result(event.node,
               {.kind = stopping_ ? NodeResult::Kind::stopped : NodeResult::Kind::exited,
                .end = event.end});
  }
  void handle(const SignalReceived& event);
  void handle(const Continued&) { fleet_.resume(); }
  void handle(const OutputClosed&) { output_gone_ = ends_ = true; }
  void handle(const InputFailed&) { input_failed_ = ends_ = true; }

  void take(const Fleet::News& news);
  void node_lost(const Fleet::News& news);
  void set_result(int node, NodeResult result);
  void obey_signal();
  void stop_all();
  void open_more() {
    while (!stopping_ && next_ < fleet_.size() &&
           (policy_.fanout == 0 || fleet_.left() < policy_.fanout))
      fleet_.dial(next_++);
  }
  void leave_when_done() {
    if (fleet_.left() > 0 || (next_ < fleet_.size() && !stopping_)) return;
    for (int node = next_; node < fleet_.size(); ++node)
      set_result(node, {.kind = NodeResult::Kind::not_started});
    finished_ = true;
    act(Leave{});
  }
  void cancel_waiting();
  [[nodiscard]] bool asked_within(std::chrono::milliseconds span) const {
    return asked_at_ && now_ <= *asked_at_ + span;
  }
  [[nodiscard]] std::vector<NodeStage> stages() const;
  [[nodiscard]] NodeResult& result(int node) { return results_[static_cast<std::size_t>(node)]; }
  template <class T>
  void act(T action) {
    fleet_.take_actions(actions_);  // keeps the order
    actions_.emplace_back(std::move(action));
  }

  std::vector<std::string> names_;
  ExecPolicy policy_;
  Fleet fleet_;
  std::vector<NodeResult> results_;
  std::vector<Action> actions_;
  Clock::time_point now_{};
  int next_ = 0;          // the first node that is not dialed yet
  bool started_ = false;  // a command has started
  bool stopping_ = false;
  bool output_gone_ = false;
  bool input_failed_ = false;
  bool finished_ = false;
  int signo_ = 0;  // the signal that stopped the command
  StopSignals signals_;
  std::optional<int> first_failure_;  // with -k
  std::optional<Clock::time_point> asked_at_;

  // Marks of the current event, for settle().
  bool ends_ = false;      // stop all nodes
  bool signaled_ = false;  // a counted signal has arrived
};

}  // namespace ds::launcher::exec
