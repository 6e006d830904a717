// Decides what happens to a command on many nodes; performs nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/exec/exec_events.h"
#include "launcher/exec/results.h"

namespace ds::launcher::exec {

struct ExecPolicy {
  int fanout = 0;                                   // nodes at the same time; 0: all
  std::chrono::milliseconds command_timeout{0};     // -u; 0: none
  std::chrono::milliseconds grace{5'000};           // between TERM and KILL
  std::chrono::milliseconds node_timeout{8'000};    // a node silent for longer is lost; 0: never
  std::chrono::milliseconds start_timeout{40'000};  // without any node getting further
  bool stop_at_failure = false;                     // -k
  bool largest_code = false;                        // -S
  bool interrupt_asks = false;  // a first interrupt lists who runs; a second within 1 s stops
};

/// The policy of one `dslaunch exec`.
/// Promise: nodes know nothing of each other: each goes from opening to its end as fast as it can,
///          and none is stopped because of another unless `stop_at_failure`. Leave comes exactly
///          once, when every node has ended or is given up.
/// Threads: one.   Errors: none; late events are ignored.
class ExecState {
 public:
  ExecState(std::vector<std::string> names, ExecPolicy policy);

  /// Order:   the order of the actions is theirs to be performed in.
  std::vector<Action> on(const Event& event, Clock::time_point now);

  /// When TimeCame is due; sometimes early.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] bool finished() const { return finished_; }
  /// Nobody waits for a slow reader any more: a signal or -k ends it all.
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] const std::vector<NodeResult>& results() const { return results_; }
  /// starting, running or stopping.
  [[nodiscard]] std::string_view phase_name() const;
  /// Nodes that have not ended.
  [[nodiscard]] int nodes_left() const;
  [[nodiscard]] bool is_running(int node) const {
    return nodes_[static_cast<std::size_t>(node)].stage == NodeState::Stage::running;
  }
  void set_grace(std::chrono::milliseconds grace) { policy_.grace = grace; }
  [[nodiscard]] int exit_code() const;

 private:
  static constexpr std::chrono::seconds kHeartbeat{1};
  // The agents KILL by themselves after the grace; this repeats it when they seem not to.
  static constexpr std::chrono::seconds kKillMargin{2};
  static constexpr std::chrono::seconds kGiveUpAfterKill{5};
  static constexpr std::chrono::seconds kAskAgain{1};
  // So late a tick means that this process itself stood still: silence says nothing about nodes.
  static constexpr std::chrono::seconds kOwnStall{2};

  struct NodeState {
    enum class Stage { waiting, opening, greeted, running, gone };
    Stage stage = Stage::waiting;
    Clock::time_point last_heard{};
    // The next of: time is up, KILL, given up.
    enum class Due { nothing, stop, kill, give_up };
    Due due = Due::nothing;
    Clock::time_point due_at{};
  };

  void handle(const Begin&);
  void handle(const NodeGreeted& event);
  void handle(const NodeReady& event);
  void handle(const NodeHeard& event);
  void handle(const CommandEnded& event);
  void handle(const NodeDone& event);
  void handle(const NodeLost& event);
  void handle(const GotSignal& event);
  void handle(const Resumed&);
  void handle(const OutputSlow&);
  void handle(const OutputGone&);
  void handle(const TimeCame&);

  void open_more();
  void node_progressed();
  void set_due(NodeState& node, NodeState::Due due, std::chrono::milliseconds after);
  void perform_due(int index);
  static bool is_stopping(const NodeState& node) {
    return node.due == NodeState::Due::kill || node.due == NodeState::Due::give_up;
  }
  void stop_node(int index);
  void kill_node(int index);
  void set_result(int index, NodeResult result);
  void node_gone(int index);
  void stop_all();
  void suspend();
  void drop_silent_nodes();
  void leave_when_done();
  [[nodiscard]] std::string stages() const;
  [[nodiscard]] std::chrono::milliseconds beat_period() const;
  NodeState& node(int index);
  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }
  template <class T>
  void act(T action) {
    actions_.emplace_back(std::move(action));
  }

  std::vector<std::string> names_;
  ExecPolicy policy_;
  std::vector<NodeState> nodes_;
  std::vector<NodeResult> results_;
  std::vector<Action> actions_;
  int next_ = 0;          // the first node that waits
  int active_ = 0;        // opening, greeted or running
  int unready_ = 0;       // opening or greeted
  bool started_ = false;  // a command has
  bool stopping_ = false;
  bool output_gone_ = false;
  bool suspended_ = false;
  bool finished_ = false;
  int signo_ = 0;                     // that ended it
  int signals_ = 0;                   // after which nothing is asked any more
  std::optional<int> first_failure_;  // with -k
  std::optional<Clock::time_point> asked_at_;

  Clock::time_point now_{};
  Clock::time_point suspended_at_{};
  Clock::time_point next_beat_{};
  Clock::time_point next_due_ = Clock::time_point::max();  // no node's due_at is earlier
  std::optional<Clock::time_point> start_by_;
};

}  // namespace ds::launcher::exec
