// What can happen to a job, and what can be done about it: the words of JobState.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "engine/base/exit_status.h"

namespace ds::launcher {

/// How one rank ended. A rank that could not be started has the status a shell would give, and a
/// cause.
struct RankEnd {
  ExitStatus status = ExitStatus::lost();
  std::string cause{};  // "cannot run ./a.out: Permission denied"; empty: the status says it all
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

// Events.
struct Start {};
struct AgentGreeted {  // its Hello came
  int node = 0;
};
struct AgentReady {  // its ranks are forked and wait
  int node = 0;
  std::uint16_t port = 0;  // held for MASTER_PORT on node 0
};
struct AgentHeard {  // any bytes came
  int node = 0;
};
struct AgentDone {  // its Bye came
  int node = 0;
};
struct AgentLost {  // never reached, or gone without Bye; `reason` names host and cause
  int node = 0;
  std::string reason{};
};
struct RankExited {
  int rank = 0;
  RankEnd end{};
};
struct SignalReceived {  // HUP, INT, TERM or TSTP came to the launcher
  int signo = 0;
};
struct Continued {};  // the launcher runs again after SuspendSelf
struct OutputHeld {
};  // the launcher's reader is slow, so agents are not read: they cannot be heard
struct OutputClosed {};  // nobody reads standard output any more
struct Tick {};          // wake_at() has come
using Event = std::variant<Start, AgentGreeted, AgentReady, AgentHeard, AgentDone, AgentLost,
                           RankExited, SignalReceived, Continued, OutputHeld, OutputClosed, Tick>;

// Actions. Those without a node are for every agent that listens.
struct OpenAgents {  // on every node of the placement
  friend bool operator==(const OpenAgents&, const OpenAgents&) = default;
};
struct SendSpec {
  int node = 0;
  friend bool operator==(const SendSpec&, const SendSpec&) = default;
};
struct SendGo {
  std::uint16_t master_port = 0;
  friend bool operator==(const SendGo&, const SendGo&) = default;
};
struct StopRanks {  // TERM to main processes, KILL to all after the grace
  std::chrono::milliseconds grace{};
  friend bool operator==(const StopRanks&, const StopRanks&) = default;
};
struct KillRanks {
  friend bool operator==(const KillRanks&, const KillRanks&) = default;
};
struct SuspendRanks {
  friend bool operator==(const SuspendRanks&, const SuspendRanks&) = default;
};
struct SuspendSelf {  // once the Suspend frames are sent; Continued follows
  friend bool operator==(const SuspendSelf&, const SuspendSelf&) = default;
};
struct ResumeRanks {
  friend bool operator==(const ResumeRanks&, const ResumeRanks&) = default;
};
struct SendHeartbeats {
  friend bool operator==(const SendHeartbeats&, const SendHeartbeats&) = default;
};
struct CloseAgent {  // drop the channel; the agent then ends what it runs
  int node = 0;
  friend bool operator==(const CloseAgent&, const CloseAgent&) = default;
};
struct Say {  // one or more lines on standard error, without "dslaunch: "
  std::string text{};
  friend bool operator==(const Say&, const Say&) = default;
};
struct Finish {  // leave with this code; the last action
  int code = 0;
  friend bool operator==(const Finish&, const Finish&) = default;
};
using Action = std::variant<OpenAgents, SendSpec, SendGo, StopRanks, KillRanks, SuspendRanks,
                            SuspendSelf, ResumeRanks, SendHeartbeats, CloseAgent, Say, Finish>;

}  // namespace ds::launcher
