// Decides what happens to a job; performs nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/events.h"
#include "launcher/job/job_policy.h"
#include "launcher/job/roster.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

/// The policy of one job: who starts when, whose failure counts, how the rest is stopped, and
/// whether all begin again.
/// Promise: no rank runs before every node is ready; a node that cannot be used is replaced by a
///          spare, or ends the job before it begins, after all nodes have answered, so that every
///          bad one is named. The first failure decides: all ranks get TERM once, and KILL a grace
///          later. Then either a new epoch starts, with the same ranks in the same places as far as
///          their hosts live, or the job ends. Conclude comes exactly once: when every agent has
///          said Bye or Cleared or is given up, and, where all went well, their output is written.
/// Threads: one.   Errors: none; an impossible event is a DS_ASSERT, a late one is ignored.
class JobState {
 public:
  JobState(Placement placement, JobPolicy policy, const std::vector<Host>& spares = {});

  /// Order:   the order of the actions is theirs to be performed in.
  std::vector<Action> on(const Event& event, Clock::time_point now);

  /// When a Tick is due.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] bool finished() const { return phase_ == Phase::finished; }
  /// Nothing runs any more: only output may still wait for its reader.
  [[nodiscard]] bool only_writes() const { return phase_ >= Phase::writing; }
  [[nodiscard]] const Cause& cause() const { return cause_; }
  /// Of the epoch that runs or is being started.
  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] const Roster& agents() const { return agents_; }
  /// For people: starting, running, restarting, stopping, finished.
  [[nodiscard]] std::string_view phase_name() const;
  /// Of this epoch.
  [[nodiscard]] int ranks_left() const { return ranks_left_; }
  [[nodiscard]] int ranks_started() const { return ranks_started_; }
  /// Of stops that begin from now on.
  void set_grace(std::chrono::milliseconds grace) { policy_.grace = grace; }
  [[nodiscard]] bool finds_master() const { return policy_.find_master; }
  /// Agents stay for another epoch.
  [[nodiscard]] bool keeps_agents() const { return policy_.max_restarts > 0; }

 private:
  static constexpr std::chrono::seconds kHeartbeat{1};
  // While nodes wait for others: with many of them, beats are most of what goes over the wire.
  static constexpr std::chrono::seconds kStartHeartbeat{2};
  // The agents KILL by themselves after the grace; the root repeats it when they seem not to.
  static constexpr std::chrono::seconds kKillMargin{2};
  static constexpr std::chrono::seconds kGiveUpAfterKill{5};
  static constexpr std::chrono::seconds kSayWaitingAfter{1};
  // A lost host is dialled again for so long at most when only the sweep is waited for.
  static constexpr std::chrono::seconds kSweepWithin{5};
  static constexpr std::chrono::seconds kLeaveWithin{2};
  // Silence of an agent that has nothing to do.
  static constexpr std::chrono::milliseconds kIdleTimeout{5'000};
  // So late a tick means that the launcher itself stood still; then silence says nothing about
  // nodes.
  static constexpr std::chrono::seconds kOwnStall{2};

  // clearing: as stopping, but a new epoch follows. writing: all ended well, if their output can be
  // written.
  enum class Phase { starting, running, clearing, stopping, writing, finished };
  using Stage = AgentRecord::Stage;
  struct NodeState {
    int ranks_left = 0;
    bool done = false;  // all of this epoch is gone there
  };

  // job_state.cpp: from nothing to running ranks.
  void handle(const Start&);
  void handle(const AgentGreeted& event);
  void handle(const AgentReady& event);
  void handle(const MasterFound&);
  void handle(const MasterMissing& event);
  void handle(const AgentSwept& event);
  void handle(const RankStarted& event);
  void begin_epoch();
  void give_spec(int agent);
  [[nodiscard]] int slots_needed(int node) const;
  void begin_when_ready();
  [[nodiscard]] std::vector<int> agents_by_node() const;
  bool fill_vacancies();
  [[nodiscard]] bool vacancies_may_be_filled() const;
  void node_progressed();

  // job_state_end.cpp: what ends, in the order in which it is heard of.
  void handle(const AgentHeard& event);
  void handle(const AgentCleared& event);
  void handle(const AgentDone& event);
  void handle(const AgentLost& event);
  void handle(const RankExited& event);
  [[nodiscard]] Cause cause_of(const RankExited& event) const;
  [[nodiscard]] bool came_first(const RankExited& event) const;
  void take_earlier(Cause cause);
  void node_done(int index);
  void node_lost(int agent, const std::string& reason, const std::string& stage = {});
  void waiting_agent_lost(int agent, const std::string& reason);
  void ranks_lost(int node);
  void rank_ended(int rank, const RankEnd& end);
  void dial_again(int lost, const std::string& reason);
  void advance();

  // job_state_stop.cpp: TERM, grace, KILL; another epoch or the end.
  void handle(const SignalReceived& event);
  void handle(const OutputClosed& event);
  void handle(const OutputWritten&);
  void fail(Cause cause);
  [[nodiscard]] std::optional<std::string> why_no_restart(const Cause& cause) const;
  void restart(Cause cause);
  void restart_when_cleared();
  void stop(Cause cause);
  void stop_ranks();
  void kill();
  void give_up();
  void close(int agent);
  void close_waiting_agents();
  void dismiss(int agent);
  void close_leaving_agents();
  void drop_sweepers();
  void end_well();
  void finish_when_done();
  void conclude();

  // job_state_clock.cpp: time, and what stops it.
  void handle(const OutputHeld&);
  void handle(const Continued&);
  void handle(const Tick&);
  void beat();
  void suspend();
  void drop_silent_agents();
  void drop_unready_agents();
  void say_waiting();
  void send_pre_signal();
  void warn_of_skew();
  void pass_deadline();

  [[nodiscard]] std::chrono::milliseconds beat_period() const;
  [[nodiscard]] std::vector<int> running_ranks() const;
  NodeState& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const std::string& host_name(int agent) const {
    return agents_.host_of(agent).name;
  }
  template <class T>
  void act(T action) {
    actions_.emplace_back(std::move(action));
  }

  Placement placement_;
  JobPolicy policy_;
  Roster agents_;
  Phase phase_ = Phase::starting;
  bool begun_ = false;  // Go of this epoch was sent
  bool suspended_ = false;
  std::vector<NodeState> nodes_;
  std::vector<RankRecord> ranks_;
  std::vector<BadNode> vacant_;  // places without an agent, and why
  int agents_left_ = 0;          // not gone
  int nodes_ready_ = 0;          // in this epoch
  int nodes_done_ = 0;
  int ranks_left_ = 0;  // not ended
  int ranks_started_ = 0;
  std::uint16_t port_ = 0;                    // MASTER_PORT
  bool searching_ = false;                    // for MASTER_ADDR
  std::vector<int> found_with_;               // agents by node for whom it was found
  std::optional<std::uint64_t> found_epoch_;  // the last one in which it was
  Cause cause_;
  JobVerdict verdict_;  // what is already known of it
  int signals_ = 0;     // HUP, INT, TERM so far
  std::vector<Action> actions_;

  // The clock of the event being handled, and what comes later.
  Clock::time_point now_{};
  Clock::time_point started_at_{};
  Clock::time_point failed_at_{};  // the failure that the last restart followed
  Clock::time_point suspended_at_{};
  Clock::time_point next_beat_{};
  std::optional<Clock::time_point> start_by_, say_waiting_at_, kill_at_, give_up_at_, sweep_by_,
      leave_by_;
  std::optional<Clock::time_point> silent_at_, deadline_at_, pre_signal_at_, skew_at_;
};

}  // namespace ds::launcher
