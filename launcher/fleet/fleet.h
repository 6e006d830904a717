// Life of every agent of one launch: turns events into news for a policy and into actions;
// performs nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "launcher/fleet/fleet_events.h"

namespace ds::launcher {

struct FleetPolicy {
  std::chrono::milliseconds node_timeout{8'000};    // an agent silent for longer is lost; 0: never
  std::chrono::milliseconds start_timeout{30'000};  // without progress of any agent
};

/// Agents, numbered as they are added.
/// Promise: an event only changes the record of one agent, and adds news. The policy above reads
///          the news when the event is over and gives orders. No order makes news, so that
///          nothing changes under a loop over agents. Each agent leaves at most one News of its
///          end, and CloseAgent follows exactly once for each dialed agent. The wait for an agent
///          whose ranks are stopped, or that was dismissed, is bounded.
/// Cost:    an event O(1), an order and a deadline O(log agents).
/// Threads: one.   Errors: none; an event that does not fit the stage of its agent is ignored.
class Fleet {
 public:
  enum class Stage {
    queued,     // known, not dialed
    opening,    // dialed, not heard yet
    sweeping,   // dialed again: kills leftover processes of its predecessor
    idle,       // has no Spec, or has cleared up after it
    preparing,  // has a Spec, its ranks are not ready
    ready,      // its ranks wait for Go
    running,    // Go was sent, and processes remain
    leaving,    // was dismissed
    gone
  };
  struct News {
    enum class What {
      greeted,
      swept,
      ready,
      cleared,
      time_up,  // limit_time(); the agent goes on
      // The agent is gone, and closed:
      left,         // after its Bye, or some time after it was dismissed
      lost,         // `reason` and `stage` as the event had them
      silent,       // for `span`
      no_greeting,  // within `span`
      not_ready,    // within `span`
      not_swept,    // in time
      unanswered    // after KILL
    };
    What what{};
    int agent = 0;
    Stage was{};  // before
    std::uint16_t port = 0;
    std::uint32_t killed = 0;
    std::chrono::milliseconds span{};
    std::string reason{};
    std::string stage{};
  };

  explicit Fleet(FleetPolicy policy) : policy_(policy) {}

  // Orders. An order that does not fit the stage of its agent fails a DS_ASSERT.
  /// Adds an agent on a host of the policy's numbering and returns its number. `again`: the host
  /// was lost before; the agent sweeps it once it has greeted.
  int add(int host, bool again = false) {
    records_.push_back({.host = host, .again = again});
    return size() - 1;
  }
  void dial(int agent);
  /// Gives up an agent that has not swept its host by then; never later than set before.
  void sweep_within(int agent, std::chrono::milliseconds span) {
    const Record& record = this->record(agent);
    DS_ASSERT(record.again);
    if (record.due == Due::swept && record.due_at <= now_ + span) return;
    set_due(agent, Due::swept, span);
  }
  void give_spec(int agent, int node);
  /// Records that Go is sent: the ranks of the agent run.
  void start(int agent) {
    Record& record = this->record(agent);
    DS_ASSERT(record.stage == Stage::ready);
    set_stage(record, Stage::running);
    next_beat_ = std::min(next_beat_, now_ + beat_period());
  }
  /// Requests News::time_up after `span`, unless the agent is stopped or its end expected before.
  void limit_time(int agent, std::chrono::milliseconds span) { set_due(agent, Due::time_up, span); }
  /// Drops the limit, if any.
  void unlimit(int agent) {
    if (is_limited(agent)) clear_due(agent);
  }
  /// Sends TERM; while the agent does not end, sends KILL, then gives it up. An agent whose ranks
  /// have not begun clears up without a signal.
  void stop(int agent, std::chrono::milliseconds grace) {
    DS_ASSERT(is_busy(agent));
    need_not_be_ready(agent);
    act(StopAgent{agent, grace});
    set_due(agent, Due::kill, grace + kKillMargin);
  }
  /// Records that the agent's ranks have ended: their leftover processes get KILL in time.
  void expect_end(int agent, std::chrono::milliseconds grace) {
    if (is_busy(agent) && !is_being_killed(agent)) set_due(agent, Due::kill, grace + kKillMargin);
  }
  void kill(int agent);
  /// Makes an idle agent leave; closes it if it does not.
  void dismiss(int agent) {
    Record& record = this->record(agent);
    DS_ASSERT(record.stage == Stage::idle);
    set_stage(record, Stage::leaving);
    act(DismissAgent{agent});
    set_due(agent, Due::leave, kLeaveWithin);
  }
  /// Closes the agent without news.
  void close(int agent);

  // Events.
  void on(const AgentGreeted& event);
  void on(const AgentReady& event) {
    const News news{.what = News::What::ready, .port = event.port};
    if (step(event.agent, Stage::preparing, Stage::ready, news)) progressed();
  }
  void on(const AgentHeard& event) { record(event.agent).last_heard = now_; }
  void on(const AgentCleared& event) {
    const bool early = stage(event.agent) == Stage::ready && is_stopping(event.agent);
    const Stage from = early ? Stage::ready : Stage::running;
    if (step(event.agent, from, Stage::idle, {.what = News::What::cleared})) clear_due(event.agent);
  }
  void on(const AgentSwept& event) {
    const News news{.what = News::What::swept, .killed = event.killed};
    if (step(event.agent, Stage::sweeping, Stage::idle, news)) clear_due(event.agent);
  }
  void on(const AgentDone& event) { end(event.agent, {.what = News::What::left}); }
  void on(const AgentLost& event) {
    end(event.agent, {.what = News::What::lost, .reason = event.reason, .stage = event.stage});
  }
  /// Extends the waits after TERM and KILL: agents stop and kill by themselves, but their report
  /// waits behind unread output. Heartbeats need no credit, so the node timeout stays.
  void on(const OutputHeld&) { held_at_ = now_; }
  /// Sends heartbeats and performs whatever is overdue.
  void on(const Tick&);

  /// Sets the time of the event that is being handled.
  void set_now(Clock::time_point now) { now_ = now; }
  /// Sends heartbeats from now on.
  void begin() { next_beat_ = now_ + beat_period(); }
  void suspend() {
    if (suspended()) return;
    suspended_at_ = now_;
    act(SuspendAgents{});
    act(SuspendSelf{});
  }
  /// Returns how long the fleet was suspended; nothing if it was not.
  std::optional<Clock::duration> resume();
  /// Returns when Tick is due; sometimes early.
  [[nodiscard]] Clock::time_point wake_at() const;

  std::vector<News> take_news() { return std::exchange(news_, {}); }
  std::vector<FleetAction> take_actions() { return std::exchange(actions_, {}); }
  /// Moves the actions to the end of a policy's own.
  void take_actions(auto& actions) {
    for (FleetAction& action : take_actions())
      std::visit([&](auto& known) { actions.emplace_back(std::move(known)); }, action);
  }

  [[nodiscard]] int size() const { return static_cast<int>(records_.size()); }
  /// Returns the number of agents that were dialed and are not gone.
  [[nodiscard]] int left() const { return left_; }
  /// Returns the number of agents that were dialed for the first time and have not greeted, or that
  /// have a Spec and are not ready.
  [[nodiscard]] int unready() const { return unready_; }
  [[nodiscard]] Stage stage(int agent) const { return record(agent).stage; }
  [[nodiscard]] bool again(int agent) const { return record(agent).again; }
  /// Returns whether the agent has a Spec and has neither left nor cleared up.
  [[nodiscard]] bool is_busy(int agent) const {
    const Stage stage = record(agent).stage;
    return stage == Stage::preparing || stage == Stage::ready || stage == Stage::running;
  }
  /// Returns whether the agent was sent TERM or KILL and has not ended yet.
  [[nodiscard]] bool is_stopping(int agent) const {
    const Due due = record(agent).due;
    return due == Due::kill || due == Due::give_up;
  }
  [[nodiscard]] bool is_being_killed(int agent) const { return record(agent).due == Due::give_up; }
  /// Returns whether News::time_up will follow.
  [[nodiscard]] bool is_limited(int agent) const { return record(agent).due == Due::time_up; }
  [[nodiscard]] bool suspended() const { return suspended_at_.has_value(); }
  /// Returns when the agent was last heard, or a later time if the launcher itself was stopped.
  [[nodiscard]] Clock::time_point last_heard(int agent) const {
    return std::max(record(agent).last_heard, heard_floor_);
  }

 private:
  static constexpr std::chrono::seconds kHeartbeat{1};
  // While no ranks run: with many nodes, heartbeats are most of the traffic then.
  static constexpr std::chrono::seconds kIdleHeartbeat{2};
  // Agents send KILL by themselves after the grace; the root repeats it after this margin.
  static constexpr std::chrono::seconds kKillMargin{2};
  static constexpr std::chrono::seconds kGiveUpAfterKill{5};
  static constexpr std::chrono::seconds kLeaveWithin{2};
  // An agent without a Spec sends a heartbeat every 2 s, whatever the node timeout.
  static constexpr std::chrono::milliseconds kIdleTimeout{5'000};
  // A Tick so late, or late by a quarter of a short node timeout, means that the launcher itself
  // was stopped; then the silence of agents proves nothing.
  static constexpr std::chrono::milliseconds kOwnStall{2'000};
  static constexpr std::chrono::milliseconds kLeastStall{250};
  // After a stall the launcher first reads what agents have sent meanwhile.
  static constexpr std::chrono::seconds kAfterStall{1};

  enum class Due { nothing, swept, time_up, kill, give_up, leave };
  struct Record {
    int host = 0;
    bool again = false;
    Stage stage = Stage::queued;
    Due due = Due::nothing;
    Clock::time_point due_at{};
    Clock::time_point last_heard{};
    Clock::time_point queued_at = Clock::time_point::max();  // its valid entry of queue_
  };
  struct Entry {
    Clock::time_point at;
    int agent;
    friend bool operator>(const Entry& a, const Entry& b) { return a.at > b.at; }
  };

  Record& record(int agent) {
    DS_ASSERT(agent >= 0 && agent < size());
    return records_[static_cast<std::size_t>(agent)];
  }
  [[nodiscard]] const Record& record(int agent) const {
    DS_ASSERT(agent >= 0 && agent < size());
    return records_[static_cast<std::size_t>(agent)];
  }
  void act(FleetAction action) { actions_.push_back(std::move(action)); }
  void tell(News news) { news_.push_back(std::move(news)); }
  void progressed() { progressed_at_ = now_; }
  void set_stage(Record& record, Stage stage);
  void set_due(int agent, Due due, std::chrono::milliseconds after) {
    Record& record = this->record(agent);
    record.due = due;
    record.due_at = now_ + after;
    queue(agent);
  }
  /// Drops the agent's deadline; only its silence is still watched.
  void clear_due(int agent) {
    record(agent).due = Due::nothing;
    queue(agent);
  }
  void need_not_be_ready(int agent) {
    if (Record& record = this->record(agent); record.stage == Stage::preparing)
      set_stage(record, Stage::ready);
  }
  bool step(int agent, Stage from, Stage to, News news);
  void end(int agent, News news);

  // fleet_clock.cpp
  [[nodiscard]] std::chrono::milliseconds beat_period() const;
  [[nodiscard]] std::optional<Clock::duration> own_stall() const;
  void skip(Clock::duration pause, Clock::time_point earliest);
  [[nodiscard]] std::chrono::milliseconds silence_limit(const Record& record) const;
  [[nodiscard]] Clock::time_point overdue_at(const Record& record) const;
  [[nodiscard]] Clock::time_point effective_due(const Record& record) const;
  void queue(int agent);
  void look_at_due(Clock::time_point until);
  void perform_due(int agent);
  void drop_unready();
  [[nodiscard]] std::optional<Clock::time_point> start_by() const {
    if (unready_ == 0) return std::nullopt;
    return progressed_at_ + policy_.start_timeout;
  }

  FleetPolicy policy_;
  std::vector<Record> records_;
  std::vector<News> news_;
  std::vector<FleetAction> actions_;
  // When to check which agent: never too late, often too early; some entries are outdated.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  int left_ = 0;
  int unready_ = 0;  // opening for the first time, or preparing
  int running_ = 0;
  Clock::time_point now_{};
  Clock::time_point next_beat_ = Clock::time_point::max();
  Clock::time_point progressed_at_{};  // the last progress of any agent
  Clock::time_point heard_floor_{};    // silence counts from here at the earliest
  std::optional<Clock::time_point> held_at_;
  std::optional<Clock::time_point> suspended_at_;
};

/// Returns "node-3: nothing heard for 8 s". `news`: of an agent's end; `host`: its host's name.
std::string loss_reason(const Fleet::News& news, const std::string& host);

/// Returns the last stage that the agent reached, as transport.h names it; may be empty.
std::string loss_stage(const Fleet::News& news);

/// Formats a duration: "10 s", "1.5 s", "10 min".
std::string span_text(std::chrono::milliseconds span);

}  // namespace ds::launcher
