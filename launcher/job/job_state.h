// Policy of a job: turns events into actions; performs nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/fleet/fleet.h"
#include "launcher/fleet/stop_signals.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/alarms.h"
#include "launcher/job/host_history.h"
#include "launcher/job/job_events.h"
#include "launcher/job/job_policy.h"
#include "launcher/job/membership.h"
#include "launcher/job/roster.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

/// The policy of one job: which ranks start when, which failure counts, how the other ranks are
/// stopped, and whether the job restarts.
/// Promise: no rank runs before every node is ready; a node that cannot be used is replaced by a
///          spare, or ends the job before it begins, after all nodes have answered, so that every
///          bad one is named. The first failure decides: all ranks get TERM once, and KILL a grace
///          later. Then either a new epoch starts, with the same ranks in the same places as far as
///          their hosts live, or the job ends. With --nodes MIN:MAX the hosts that are there then
///          make the epoch (job_state_members.cpp). Conclude comes exactly once: when every agent
///          has sent Bye or Cleared or is given up and, after success, all output is written.
/// Design:  an event only leaves marks (handle(), Fleet); then settle() decides once, in the order
///          of its lines. Only functions that settle() calls give orders to other agents.
/// Threads: one.   Errors: none; an impossible event is a DS_ASSERT, a late one is ignored.
class JobState {
 public:
  JobState(Placement placement, JobPolicy policy, const std::vector<Host>& spares = {});

  /// Returns the actions that follow from the event, in the order in which to perform them.
  std::vector<Action> on(const Event& event, Clock::time_point now);

  /// Returns when a Tick is due; sometimes early, never while the job is suspended or only writes.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] bool finished() const { return phase_ == Phase::finished; }
  /// Returns whether no rank runs any more: only output may still wait for its reader.
  [[nodiscard]] bool only_writes() const { return phase_ >= Phase::writing; }
  [[nodiscard]] const Cause& cause() const { return cause_; }
  /// Returns the placement of the epoch that runs or is being started.
  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] const Roster& agents() const { return roster_; }
  /// Returns the agent of each node; -1: none.
  [[nodiscard]] const std::vector<int>& agents_by_node() const { return roster_.by_node(); }
  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  /// Returns a name for people: starting, running, restarting, stopping, finished.
  [[nodiscard]] std::string_view phase_name() const {
    constexpr std::string_view kNames[] = {"starting", "running",  "restarting",
                                           "stopping", "finished", "finished"};  // by Phase
    return kNames[static_cast<std::size_t>(phase_)];
  }
  /// Returns the number of ranks of this epoch that have not ended.
  [[nodiscard]] int ranks_left() const { return ranks_left_; }
  [[nodiscard]] int ranks_started() const { return ranks_started_; }
  /// Returns the pid of each rank on its node; 0: not started yet.
  [[nodiscard]] std::vector<int> pids() const {
    std::vector<int> pids;
    for (const auto& rank : ranks_) pids.push_back(rank.pid);
    return pids;
  }
  /// Sets the grace of stops that begin from now on.
  void set_grace(std::chrono::milliseconds grace) { policy_.grace = grace; }
  [[nodiscard]] bool finds_master() const { return policy_.find_master; }
  /// Returns whether agents stay for another epoch.
  [[nodiscard]] bool keeps_agents() const { return policy_.keeps_agents(); }
  /// Returns whether the number of nodes may change.
  [[nodiscard]] bool elastic() const { return policy_.elastic.has_value(); }
  /// Returns the number of nodes that an epoch has at most.
  [[nodiscard]] int most_nodes() const { return most_nodes_; }
  /// Returns whether a training would lose its steps if its ranks ended now by plan.
  [[nodiscard]] bool loses_steps() const {
    return !can_pause() && phase_ == Phase::running && has_stepped();
  }
  /// Returns whether a training that has no ranks now saves its kept states before it ends.
  [[nodiscard]] bool saves_before_end() const { return keeps_ && states_.saves_at_stop; }
  /// Returns "1 of 2 nodes is ready" while the ranks have ended and the job waits for hosts; else
  /// nothing.
  [[nodiscard]] std::string hosts_waited_for() const;
  /// Returns what each host does now, by number.
  [[nodiscard]] std::vector<HostRole> host_roles() const;

 private:
  static constexpr std::chrono::seconds kSayWaitingAfter{1};
  // Missing nodes are first named this long after the start, then after twice as long.
  static constexpr std::chrono::seconds kSayMissingAfter{5};
  // The longest wait for a sweep of a lost host when nothing else is waited for.
  static constexpr std::chrono::seconds kSweepWithin{5};
  // A signal before the deadline that comes due between two epochs is tried again after this time.
  static constexpr std::chrono::seconds kPreSignalAgain{1};
  // A lost host that does not answer is dialed again after this time.
  static constexpr std::chrono::seconds kRedialAfter{1};
  // After an epoch that ran this long the next restart has no delay.
  static constexpr std::chrono::seconds kGoodRun{60};
  // Of jobs whose number of nodes may change. Hosts that answer within this time are one change.
  static constexpr std::chrono::seconds kJoinersTogether{1};
  // A rank of a training that exits because another one is gone may be reported before that one.
  static constexpr std::chrono::seconds kOwnErrorWithin{1};
  // Ranks that exit with 94 sooner are started again with a growing delay.
  static constexpr std::chrono::seconds kShortEpoch{1};
  // After so many failed attempts the end of the job does not wait for a host.
  static constexpr int kFewTries = 2;
  // A check may tokenize the data.
  static constexpr std::chrono::minutes kCheckWithin{10};
  // Agents of hosts that have left hold states for so long after the first step of an epoch that
  // does not keep its own.
  static constexpr std::chrono::minutes kHoldWithin{10};
  // A training ends its step within this many node timeouts when it is told to pause.
  static constexpr int kPauseTimeouts = 10;

  // clearing: as stopping, but a new epoch follows. writing: all ranks ended well and their output
  // is being written.
  enum class Phase { starting, running, clearing, stopping, writing, finished };
  using Stage = Fleet::Stage;
  using Change = EpochRecord::Kind;
  struct NodeState {
    int ranks_left = 0;
    bool done = false;  // nothing of this epoch is left there
  };

  // job_state.cpp: handling of every event; start of an epoch.
  void settle();
  void advance();
  void handle(const Start&);
  void handle(const MasterFound&);
  void handle(const MasterMissing& event);
  void handle(const RankStarted& event);
  void handle(const PhaseReached& event);
  void handle(const StatesTold& event) { states_ = event; }
  void handle(const RanksHeld&) {
    if (!only_writes()) fleet_.suspend();
  }
  void clear_alarms_of_epoch() {
    alarms_.clear_all_but({Alarm::pre_signal, Alarm::deadline, Alarm::sweep});
  }
  void begin_epoch();
  void begin_when_ready();
  void cannot_start();
  void fill_vacancies();
  [[nodiscard]] std::string missing_text() const;
  [[nodiscard]] std::string absent_text() const;

  // job_state_members.cpp: the nodes of epochs of jobs whose number of nodes may change.
  /// Returns whether the nodes of this epoch are chosen.
  [[nodiscard]] bool is_placed() const { return !elastic() || !verdict_.epochs.empty(); }
  void gather();
  [[nodiscard]] bool awaits_earlier_host() const;
  [[nodiscard]] int nodes_wanted() const;
  /// Returns the number of hosts that the user has not removed.
  [[nodiscard]] int hosts_left() const {
    return static_cast<int>(roster_.hosts().size()) - hosts_.retired();
  }
  /// Returns how many hosts the next epoch may have now.
  [[nodiscard]] int here() const {
    return roster_.seated() + roster_.waiting() +
           (lost_node_ ? static_cast<int>(held_.size()) : 0);
  }
  void begin_with_members();
  void cannot_gather(bool first);
  void say_members(const Placement& next, const std::vector<int>& chosen, const std::string& lost);
  [[nodiscard]] std::string also_lost_text() const;

  // job_state_changes.cpp: the ends of such epochs.
  [[nodiscard]] bool has_stepped() const;
  /// Returns whether the next epoch can go on from where this one is ended by plan.
  [[nodiscard]] bool can_pause() const { return !policy_.trains || states_.may_pause; }
  void begin_change(EpochRecord change, bool paused = false);
  void ranks_paused();
  void stop_for_change();
  void pause_spoiled();
  void member_lost(int agent, int index, const std::string& reason);
  void invite_joiners();
  void end_epoch(Change kind, const std::string& why);
  void handle(const SizeWanted& event);
  void leave_if_too_large(const std::string& why);
  [[nodiscard]] bool is_too_large() const;
  void record_start();
  void ranks_run_well();
  void look_at_members_clock();
  [[nodiscard]] std::chrono::milliseconds pause_limit() const {
    return std::max<std::chrono::milliseconds>(kPauseTimeouts * policy_.node_timeout,
                                               std::chrono::seconds(10));
  }

  // job_state_hosts.cpp: each host of such a job.
  void host_away(int agent, const std::string& reason, const std::string& stage);
  void agent_waits(int agent);
  void check(int agent);
  void host_fits(int agent);
  void refuse(int agent, const std::string& problem);
  void handle(const HostAdded& event);
  void handle(const HostRetired& event);
  void handle(const HostChecked& event);
  void retire(int host);
  [[nodiscard]] bool is_of_joiner(const Cause& cause) const;
  static std::string end_of_joiner(const Cause& cause);
  void drop_joiners(const std::vector<int>& nodes, const std::string& reason);
  void retire_joiner(int node, const std::string& reason);
  void master_missing(const MasterMissing& event);
  // job_state_leave.cpp: hosts that leave by plan.
  void handle(const HostsEnd& event);
  [[nodiscard]] int staying() const;
  void let_hosts_leave();
  void let_leave(int host);
  [[nodiscard]] bool has_agent(int host) const;
  bool has_left(int host);
  [[nodiscard]] bool shall_leave(int agent) const {
    return hosts_.is_retired(roster_.host_number(agent));
  }
  /// Returns whether one of the agents is on the host.
  [[nodiscard]] bool is_one_of(const std::vector<int>& agents, int host) const {
    return std::ranges::count(agents, host, [this](int agent) {
             return roster_.host_number(agent);
           }) > 0;
  }
  void drop_retired();
  void leave_after_all();
  void let_go(int agent);
  void forget_earlier_states();

  // job_state_news.cpp: news of agents from Fleet.
  void take(const Fleet::News& news);
  void agent_cleared(int agent);
  void waiting_agent_lost(int agent, const std::string& reason);
  void node_lost(int agent, bool was_ready, const std::string& reason, const std::string& stage);
  void node_done(int index);
  void vacate(int agent, const std::string& reason, const std::string& stage);
  void dial(int agent, bool again, std::chrono::milliseconds sweep_within);
  void dial_again(int lost, const std::string& reason);
  void redial();
  void drop_redials();
  void redial_after(std::chrono::milliseconds delay, int agent);
  NodeLoss* loss_of(int agent);
  void set_sweep(int agent, NodeLoss::Sweep sweep, std::uint32_t killed);
  /// Returns whether the agent was dialed for a loss, and has not swept its host yet.
  [[nodiscard]] bool is_unswept(int agent) {
    const NodeLoss* const loss = loss_of(agent);
    return loss != nullptr && loss->sweep == NodeLoss::Sweep::pending;
  }

  // job_state_news.cpp: ends of ranks, and the choice of the first failure.
  void handle(const RankExited& event);
  void handle(const MpiRankFailed& event);
  void handle(const FenceFailed& event);
  void rank_failed(const Cause& cause);
  [[nodiscard]] Cause cause_of(const RankExited& event) const;
  [[nodiscard]] Cause cause_of(const MpiRankFailed& event) const;
  [[nodiscard]] bool came_first(const Cause& event) const;
  /// Returns whether ranks have exited with 94, and the others are expected to do so.
  [[nodiscard]] bool is_beside_pause() const {
    return phase_ == Phase::clearing && cause_.kind == Cause::Kind::none &&
           alarms_.is_set(Alarm::stop);
  }
  void take_earlier(Cause cause);
  void rank_ended(int number, const RankEnd& end);

  // job_state_stop.cpp: TERM, grace, KILL; another epoch or the end.
  void handle(const SignalReceived& event);
  void handle(const OutputClosed& event);
  void handle(const InputFailed& event) {
    if (phase_ < Phase::stopping) wanted_ = {.kind = Cause::Kind::input, .reason = event.reason};
  }
  void handle(const OutputWritten&) {
    if (phase_ == Phase::writing) conclude();
  }
  void obey_signal(int signo);
  bool saves_before_stop(int signo);
  void act_on_failure();
  [[nodiscard]] std::optional<std::string> why_never_restarted(const Cause& cause) const;
  [[nodiscard]] std::optional<std::string> why_no_restart(const Cause& cause) const;
  [[nodiscard]] std::optional<std::string> why_none_left() const;
  static std::chrono::milliseconds least_delay(const Cause& cause);
  std::chrono::milliseconds next_delay(bool grows);
  void restart();
  void restart_when_cleared();
  void stop(Cause cause);
  void stop_ranks();
  void kill_ranks();
  void give_up();
  void release_agents();
  /// Returns whether a lost host was dialed again and has not been swept yet.
  [[nodiscard]] bool waits_for_sweep() const {
    if (!redials_.empty()) return true;
    for (int agent = 0; agent < fleet_.size(); ++agent)
      if (is_sweeper(agent)) return true;
    return false;
  }
  /// Returns whether the agent was dialed again for a lost host and has not swept it yet.
  [[nodiscard]] bool is_sweeper(int agent) const {
    const Stage stage = fleet_.stage(agent);
    return fleet_.again(agent) && (stage == Stage::opening || stage == Stage::sweeping);
  }
  void drop_sweepers();
  [[nodiscard]] bool may_restart() const { return phase_ < Phase::stopping && keeps_agents(); }
  void finish_when_done();
  void conclude();

  // job_state.cpp: deadlines, progress lines, suspension.
  void handle(const Continued&);
  void handle(const Tick&);
  void look_at_clock();
  void say_waiting();
  void say_missing();
  void send_pre_signal();
  [[nodiscard]] Cause deadline_cause() const;
  void warn_of_skew();
  [[nodiscard]] std::vector<int> running_ranks() const {
    std::vector<int> running;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (!ranks_[rank].ended) running.push_back(static_cast<int>(rank));
    return running;
  }

  /// Returns whether another epoch may follow whose nodes are not the same.
  [[nodiscard]] bool may_change() const { return elastic() && phase_ < Phase::stopping; }
  static std::chrono::microseconds micros(Clock::duration span) {
    return std::chrono::duration_cast<std::chrono::microseconds>(span);
  }

  RankRecord& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  NodeState& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int node_count() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] const std::string& host_name(int agent) const {
    return roster_.host_of(agent).name;
  }
  /// Keeps the cause if it is the first.
  void mark_failure(Cause cause) {
    if (cause_.kind == Cause::Kind::none) cause_ = std::move(cause);
  }
  template <class T>
  void act(T action) {
    fleet_.take_actions(actions_);  // the order is kept
    actions_.emplace_back(std::move(action));
  }

  Placement placement_;
  JobPolicy policy_;
  Roster roster_;
  Fleet fleet_;
  Phase phase_ = Phase::starting;
  bool begun_ = false;         // Go of this epoch was sent
  bool end_expected_ = false;  // all ranks of this epoch have ended, agents clear up
  std::vector<NodeState> nodes_;
  std::vector<RankRecord> ranks_;
  int nodes_ready_ = 0;  // in this epoch
  int nodes_done_ = 0;
  int ranks_left_ = 0;  // not ended
  int ranks_started_ = 0;
  int quick_restarts_ = 0;                    // in a row, after epochs that ran for a short time
  std::uint16_t port_ = 0;                    // MASTER_PORT
  bool searching_ = false;                    // for MASTER_ADDR
  std::vector<int> found_with_;               // agents by node for whom it was found
  std::optional<std::uint64_t> found_epoch_;  // the last epoch in which it was found
  Cause cause_;                               // the first failure of the epoch, or of the job
  JobVerdict verdict_;                        // as far as known
  StopSignals signals_;
  std::deque<std::pair<Clock::time_point, int>> redials_;  // when, and in place of which agent
  std::vector<Action> actions_;

  // Of jobs whose number of nodes may change.
  int most_nodes_ = 0;   // of an epoch
  int most_ranks_ = 0;   // of the largest epoch
  EpochRecord change_;   // that is under way, or planned: the ranks were told to pause for it
  std::vector<std::string> also_lost_;  // hosts, beside the one that change_ names
  // When a node was first lost before its ranks began; empty: an epoch has begun since.
  std::optional<Clock::time_point> unbegun_since_;
  bool told_no_pause_ = false;  // why no host joins a training
  HostHistory hosts_;
  std::set<int> checked_;               // agents whose hosts are being checked, or have been
  std::set<int> told_of_;               // agents that wait, as was said
  std::map<int, std::string> refused_;  // by host: why, as was said
  std::vector<BadNode> absent_;         // before the first epoch: by host instead of by node
  // States that a training keeps.
  StatesTold states_;
  bool keeps_ = false;      // all ranks have kept their states once
  bool lost_node_ = false;  // with states, and those of all ranks were not kept since
  std::optional<int> stop_signal_;  // ends the job when the states that are kept are saved
  // Hosts that leave by plan.
  std::set<int> ending_;           // their nodes were told to end, and they have not left yet
  std::set<int> returning_;        // those of the retired ones that left so, and may come back
  std::set<int> let_go_;           // removed ones whose nodes were told to end since
  bool stopped_by_nodes_ = false;  // the job stops because too few would stay
  std::set<int> keepers_;          // those of the retired ones that took part in a training
  std::vector<int> held_;          // agents of keepers_, whose states may still be needed
  std::vector<std::string> left_;  // names, since the last epoch began, for its line

  // Marks of the event being handled, for settle().
  std::optional<Cause> earlier_;  // than cause_
  std::optional<Cause> wanted_;   // why the job shall end
  std::optional<int> signo_;      // that counts
  bool paused_ = false;           // a rank has exited with 94
  bool spoiled_ = false;          // a rank failed while others exit with 94
  std::optional<MasterMissing> missing_;
  bool ticked_ = false;

  // The clock of the event being handled, and what comes later.
  Clock::time_point now_{};
  Clock::time_point started_at_{};
  Clock::time_point begun_at_{};
  Clock::time_point failed_at_{};  // the start, or the failure that the last restart followed
  std::chrono::milliseconds missing_said_for_{};
  Alarms alarms_;
};

/// Returns the delay of the next restart after so many restarts in a row of short epochs.
std::chrono::milliseconds restart_delay(int quick_restarts);

}  // namespace ds::launcher
