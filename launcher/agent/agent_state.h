// Policy of an agent: turns events on one node into actions; performs nothing.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

// Events.
struct FrameCame {
  Message message;
  bool late = false;  // belongs to an epoch that is over
};
struct RootLost {     // the channel ended, the root is stopped, or this agent got a signal to end
  std::string why{};  // sent to a root that may still read; empty if none can
};
struct PortHeld {
  std::uint16_t port = 0;
};
struct BackgroundKilled {  // after a program that ended by itself
  std::uint32_t count = 0;
};
struct RootTraced {};  // a debugger has stopped the root, which cannot send anything
struct NodeEmpty {};   // all shims have ended
struct LinkLost {      // the guard or a shim was killed or stopped
  std::string what;
};
struct TimePassed {};
using AgentEvent =
    std::variant<FrameCame, RootLost, RootTraced, PortHeld, Exited, BackgroundKilled, NodeEmpty,
                 LinkLost, TimePassed>;  // Exited: a rank has ended or did not start

// Actions.
struct Send {
  Message message;
  friend bool operator==(const Send&, const Send&) = default;
};
struct DialMaster {  // its results are sent as Probed
  Probe probe;
  friend bool operator==(const DialMaster&, const DialMaster&) = default;
};
struct KillLeftovers {  // of earlier agents of a job; their number is sent as Swept
  std::string job_cookie;
  std::vector<std::int32_t> lost;
  friend bool operator==(const KillLeftovers&, const KillLeftovers&) = default;
};
struct RunCheck {  // its result is sent as Checked
  Check check;
  friend bool operator==(const RunCheck&, const RunCheck&) = default;
};
struct StartRanks {
  EnvList env;
  bool suspended = false;
  friend bool operator==(const StartRanks&, const StartRanks&) = default;
};
struct SignalMains {
  int signo = 0;
  int rank = -1;  // -1: every rank
  friend bool operator==(const SignalMains&, const SignalMains&) = default;
};
struct Finish {  // send what is queued, then exit with this code
  int code = 0;
  friend bool operator==(const Finish&, const Finish&) = default;
};
/// Actions without arguments.
enum class Act {
  hold_port,   // answered by PortHeld
  kill_ranks,  // through their shims
  suspend_ranks,
  resume_ranks,
  kill_strays,     // from now on kill every child that is not a shim, as soon as it appears
  clear_up,        // no rank will start in this epoch: end the PMIx server, then NodeEmpty
  forget_ranks,    // all have ended; new ones may start
  kill_everything  // kill all children directly, shims included
};
using AgentAction =
    std::variant<Send, DialMaster, KillLeftovers, RunCheck, StartRanks, SignalMains, Act, Finish>;

/// Exit code of an agent that leaves background processes alive: its guard then kills nothing.
inline constexpr int kLeavesProcesses = 2;

/// The policy of one agent.
/// Promise: ranks start once in an epoch, after Go. TERM is sent once, KILL when the shortest
///          requested grace ends, kill_everything if KILL does not help within 2 s. The loss of the
///          root is a Stop with at most 3 s. The loss of a link ends all ranks at once; shims are
///          killed last, so that no rank is without a link if this process is killed, too. Finish
///          comes exactly once, as the last action. With Spec::keep_agent the agent outlives its
///          ranks and waits for the Spec of the next epoch.
/// Threads: one.   Errors: none; frames that do not fit the state end the agent with a Problem.
class AgentState {
 public:
  static constexpr std::chrono::seconds kLossGrace{3};
  static constexpr std::chrono::seconds kKillHelpsWithin{2};
  static constexpr std::chrono::seconds kShimsHelpWithin{1};  // after the loss of a link
  static constexpr std::chrono::seconds kHeartbeat{1};
  static constexpr std::chrono::seconds kStartHeartbeat{2};  // while other nodes start
  /// Silence of the root that counts as a loss before Spec has come.
  static constexpr std::chrono::seconds kFirstSilence{30};

  explicit AgentState(Clock::time_point now);
  std::vector<AgentAction> on(const AgentEvent& event, Clock::time_point now);
  /// Returns when TimePassed is due.
  [[nodiscard]] Clock::time_point wake_at() const {
    return std::min({next_heartbeat_, kill_at_, force_at_, silence_limit()});
  }
  [[nodiscard]] const std::optional<Spec>& spec() const { return spec_; }
  [[nodiscard]] bool suspended() const { return suspended_; }
  /// Returns true if background processes of the ranks stay alive: Spec asks for it, and nothing
  /// has stopped the ranks.
  [[nodiscard]] bool leaves_processes() const {
    return spec_ && spec_->leave && phase_ == Phase::running && !root_lost_ && !term_sent_;
  }

 private:
  enum class Phase { waiting, ready, running, killing, ended };
  using Actions = std::vector<AgentAction>;
  static constexpr auto kNever = Clock::time_point::max();

  void take(const FrameCame& event, Actions& out);
  void take(const RootLost& event, Actions& out);
  void take(const RootTraced&, Actions&) { last_heard_ = now_; }
  void take(const PortHeld& event, Actions& out);
  void take(const Exited& event, Actions& out);
  void take(const BackgroundKilled& event, Actions&) {
    if (phase_ == Phase::running && !term_sent_) killed_ += event.count;
  }
  void take(const NodeEmpty& event, Actions& out);
  void take(const LinkLost& event, Actions& out) { give_up(event.what, out); }
  void take(const TimePassed& event, Actions& out);
  void take_spec(const Spec& spec, Actions& out);
  void stop(Clock::duration grace, Actions& out);
  void drop_epoch(Actions& out);
  void kill_ranks(Actions& out);
  void give_up(const std::string& why, Actions& out);
  [[nodiscard]] Clock::time_point silence_limit() const {
    return root_lost_ || suspended_ || !silence_ ? kNever : last_heard_ + *silence_;
  }
  [[nodiscard]] Clock::duration beat_period() const;

  Phase phase_ = Phase::waiting;
  Clock::time_point now_;
  std::optional<Spec> spec_;
  std::optional<Clock::duration> silence_ =
      kFirstSilence;                    // silence of the root that is a loss; empty: never
  std::optional<std::string> failure_;  // the agent will end with this Problem
  bool root_lost_ = false;
  bool suspended_ = false;
  bool term_sent_ = false;
  std::uint32_t killed_ = 0;  // background processes, for Bye
  Clock::time_point last_heard_;
  Clock::time_point next_heartbeat_;
  Clock::time_point kill_at_ = kNever;
  Clock::time_point force_at_ = kNever;
};

}  // namespace ds::launcher
