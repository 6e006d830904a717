// Decides what happens on one node; performs nothing.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

// What happens to an agent.
struct FrameCame {
  Message message;
  bool late = false;  // of an epoch whose ranks are gone
};
struct RootLost {     // the channel has ended, or the root is stopped, or we were asked to leave
  std::string why{};  // for a root that may hear it yet; empty if none can
};
struct PortHeld {
  std::uint16_t port = 0;
};
struct RankStarted {
  std::int32_t rank = 0;
  std::int32_t pid = 0;
};
struct RankEnded {
  Exited how;
};
struct NodeEmpty {};  // all shims have ended
struct LinkLost {     // guard or a shim has died or stopped
  std::string what;
};
struct LeftoversKilled {
  std::uint32_t count = 0;
};
struct TimePassed {};
using AgentEvent = std::variant<FrameCame, RootLost, PortHeld, RankStarted, RankEnded, NodeEmpty,
                                LinkLost, LeftoversKilled, TimePassed>;

// What it shall do.
struct Send {
  Message message;
  friend bool operator==(const Send&, const Send&) = default;
};
struct HoldPort {  // answered by PortHeld
  friend bool operator==(const HoldPort&, const HoldPort&) = default;
};
struct DialMaster {  // its results are sent as Probed
  Probe probe;
  friend bool operator==(const DialMaster&, const DialMaster&) = default;
};
struct KillLeftovers {  // of a job whose agent here is dead; answered by LeftoversKilled
  std::string job_cookie;
  friend bool operator==(const KillLeftovers&, const KillLeftovers&) = default;
};
struct StartRanks {
  EnvList env;
  friend bool operator==(const StartRanks&, const StartRanks&) = default;
};
struct SignalMains {
  int signo = 0;
  int rank = -1;  // -1: of all
  friend bool operator==(const SignalMains&, const SignalMains&) = default;
};
struct KillRanks {  // through their shims
  friend bool operator==(const KillRanks&, const KillRanks&) = default;
};
struct SuspendRanks {
  friend bool operator==(const SuspendRanks&, const SuspendRanks&) = default;
};
struct ResumeRanks {
  friend bool operator==(const ResumeRanks&, const ResumeRanks&) = default;
};
struct KillStrays {  // from now on: all children that are no shims, as soon as they appear
  friend bool operator==(const KillStrays&, const KillStrays&) = default;
};
struct ForgetRanks {  // all are gone; new ones may be started
  friend bool operator==(const ForgetRanks&, const ForgetRanks&) = default;
};
struct KillEverything {  // all children, shims included, without asking anybody
  friend bool operator==(const KillEverything&, const KillEverything&) = default;
};
struct Finish {  // send what is queued, then end with this code
  int code = 0;
  friend bool operator==(const Finish&, const Finish&) = default;
};
using AgentAction =
    std::variant<Send, HoldPort, DialMaster, KillLeftovers, StartRanks, SignalMains, KillRanks,
                 SuspendRanks, ResumeRanks, KillStrays, KillEverything, ForgetRanks, Finish>;

/// The policy of one agent.
/// Promise: ranks start once an epoch, after Go. TERM goes out once, KILL at the earliest end of a
/// grace asked
///          for, KillEverything if that does not help within 2 s. A lost root is a Stop with at
///          most 3 s. A lost link ends everything at once, from below: shims are killed last, so
///          that ranks are never without any link if this process is hit too. Finish comes exactly
///          once, last. With Spec::keep_agent the end of all ranks is no end of the agent: it waits
///          for the Spec of another epoch.
/// Threads: one.   Errors: none; frames that do not fit the state end the agent with a Problem.
class AgentState {
 public:
  static constexpr std::chrono::seconds kLossGrace{3};
  static constexpr std::chrono::seconds kKillHelpsWithin{2};
  static constexpr std::chrono::seconds kShimsHelpWithin{1};  // after the loss of a link
  static constexpr std::chrono::seconds kHeartbeat{1};
  static constexpr std::chrono::seconds kStartHeartbeat{2};  // while other nodes are waited for
  /// Before Spec has come, silence counts after this.
  static constexpr std::chrono::seconds kFirstSilence{30};

  explicit AgentState(Clock::time_point now);
  std::vector<AgentAction> on(const AgentEvent& event, Clock::time_point now);
  /// When TimePassed is due.
  [[nodiscard]] Clock::time_point wake_at() const;
  [[nodiscard]] const std::optional<Spec>& spec() const { return spec_; }
  [[nodiscard]] bool suspended() const { return suspended_; }

 private:
  enum class Phase { waiting, ready, running, killing, ended };
  using Actions = std::vector<AgentAction>;

  void take(const FrameCame& event, Actions& out);
  void take(const RootLost& event, Actions& out);
  void take(const PortHeld& event, Actions& out);
  void take(const RankStarted& event, Actions& out);
  void take(const RankEnded& event, Actions& out);
  void take(const NodeEmpty& event, Actions& out);
  void take(const LinkLost& event, Actions& out);
  void take(const LeftoversKilled& event, Actions& out);
  void take(const TimePassed& event, Actions& out);
  void obey(const FrameCame& event, Actions& out);
  void stop(Clock::duration grace, Actions& out);
  void kill_ranks(Actions& out);
  void await_next_epoch(Actions& out);
  void give_up(const std::string& why, Actions& out);
  [[nodiscard]] std::optional<Clock::time_point> silence_limit() const;
  [[nodiscard]] Clock::duration beat_period() const;

  Phase phase_ = Phase::waiting;
  Clock::time_point now_;
  std::optional<Spec> spec_;
  std::optional<Clock::duration> silence_ = kFirstSilence;  // of the root; nothing: for ever
  std::optional<std::string> failure_;                      // ends with this Problem
  bool root_lost_ = false;
  bool suspended_ = false;
  bool term_sent_ = false;
  Clock::time_point last_heard_;
  Clock::time_point next_heartbeat_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> force_at_;
};

}  // namespace ds::launcher
