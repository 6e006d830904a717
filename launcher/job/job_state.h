// Decides what happens to a job; performs nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/events.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

struct JobPolicy {
  std::chrono::milliseconds grace{10'000};         // between TERM and KILL of a stopping rank
  std::chrono::milliseconds node_timeout{10'000};  // a node silent for longer is lost
  std::chrono::milliseconds start_timeout{
      30'000};  // without any node getting further: the others are bad
};

/// The policy of one job: who starts when, whose failure counts, how the rest is stopped.
/// Promise: no rank runs before every node is ready; a node that cannot be used ends the job before
/// it
///          begins, after all nodes have answered, so that every bad one is named.
///          The first failure decides the exit code; then all ranks get TERM once, and KILL a grace
///          later. Finish comes exactly once: when every agent has said Bye or is given up.
/// Threads: one.   Errors: none; an impossible event is a DS_ASSERT, a late one is ignored.
class JobState {
 public:
  JobState(Placement placement, JobPolicy policy);

  /// Order:   the order of the actions is theirs to be performed in.
  std::vector<Action> on(const Event& event, Clock::time_point now);

  /// When a Tick is due.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] bool finished() const { return phase_ == Phase::finished; }
  [[nodiscard]] const Cause& cause() const { return cause_; }

 private:
  static constexpr std::chrono::seconds kHeartbeat{1};
  // The agents KILL by themselves after the grace; the root repeats it when they seem not to.
  static constexpr std::chrono::seconds kKillMargin{2};
  static constexpr std::chrono::seconds kGiveUpAfterKill{5};
  static constexpr std::chrono::seconds kSayWaitingAfter{1};
  // So late a tick means that the launcher itself stood still; then silence says nothing about
  // nodes.
  static constexpr std::chrono::seconds kOwnStall{2};

  enum class Phase { starting, running, stopping, finished };
  struct NodeState {
    enum class Stage { opening, greeted, ready, gone };
    Stage stage = Stage::opening;
    Clock::time_point last_heard{};
    int ranks_left = 0;
  };

  void handle(const Start&);
  void handle(const AgentGreeted& event);
  void handle(const AgentReady& event);
  void handle(const AgentHeard& event);
  void handle(const AgentDone& event);
  void handle(const AgentLost& event);
  void handle(const RankExited& event);
  void handle(const SignalReceived& event);
  void handle(const Continued&);
  void handle(const OutputHeld&);
  void handle(const OutputClosed&);
  void handle(const Tick&);

  void begin_when_settled();
  void node_progressed();
  void stop(Cause cause);
  void kill();
  void suspend();
  void drop_silent_nodes();
  void give_up();
  void finish_when_done();
  void rank_ended(int rank, const RankEnd& end);
  void ranks_lost(int node);
  [[nodiscard]] bool is_over(int node) const;
  [[nodiscard]] std::chrono::milliseconds beat_period() const;
  NodeState& node(int index);
  template <class T>
  void act(T action) {
    actions_.emplace_back(std::move(action));
  }

  Placement placement_;
  JobPolicy policy_;
  Phase phase_ = Phase::starting;
  bool suspended_ = false;
  std::vector<NodeState> nodes_;
  std::vector<bool> rank_ended_;
  int nodes_left_ = 0;      // not gone
  int nodes_unready_ = 0;   // opening or greeted
  int ranks_left_ = 0;      // not ended
  std::uint16_t port_ = 0;  // MASTER_PORT
  std::vector<BadNode> bad_;
  Cause cause_;
  Aftermath aftermath_;
  int signals_ = 0;  // HUP, INT, TERM so far
  std::vector<Action> actions_;

  // The clock of the event being handled, and what comes later.
  Clock::time_point now_{};
  Clock::time_point suspended_at_{};
  Clock::time_point next_beat_{};
  std::optional<Clock::time_point> start_by_, say_waiting_at_, kill_at_, give_up_at_;
};

}  // namespace ds::launcher
