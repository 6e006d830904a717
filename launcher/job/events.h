// What can happen to a job, and what can be done about it: the words of JobState.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "engine/base/deadline.h"
#include "engine/base/exit_status.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

// Events. Agents are numbered as they are opened: those of the placement by node rank, then the
// spares, then those that dial a lost host again.
struct Start {};
struct AgentGreeted {  // its Hello came
  int agent = 0;
};
struct AgentReady {  // its ranks are prepared and wait
  int agent = 0;
  std::uint16_t port = 0;  // held for MASTER_PORT on node 0
};
struct MasterFound {};  // there is an address of node 0 that all nodes reach
struct MasterMissing {  // there is none
  std::string text{};
};
struct AgentHeard {  // any bytes came
  int agent = 0;
};
struct AgentCleared {  // the ranks of this epoch and all they made are gone; the agent stays
  int agent = 0;
};
struct AgentSwept {  // it has killed what an earlier agent of this job had left on its host
  int agent = 0;
  std::uint32_t killed = 0;
};
struct AgentDone {  // its Bye came
  int agent = 0;
};
struct AgentLost {  // never reached, or gone without Bye; `reason` names host and cause
  int agent = 0;
  std::string reason{};
  std::string stage{};  // how far it got, as transport.h names it
};
struct RankStarted {
  int rank = 0;
  int pid = 0;
};
struct RankExited {
  int rank = 0;
  RankEnd end{};
  ExitTime time{};
};
struct SignalReceived {  // HUP, INT, TERM, TSTP, or one to be forwarded came to the launcher
  int signo = 0;
};
struct Continued {};  // the launcher runs again after SuspendSelf
struct OutputHeld {
};  // much output, or a slow reader: the last word of agents stands behind what waits
struct OutputClosed {    // nobody reads standard output any more
  std::string reason{};  // or it cannot be written for another one
};
struct OutputWritten {};  // after FlushOutput: all of it, or nobody waits for it any more
struct Tick {};           // wake_at() has come
using Event =
    std::variant<Start, AgentGreeted, AgentReady, MasterFound, MasterMissing, AgentHeard,
                 AgentCleared, AgentSwept, AgentDone, AgentLost, RankStarted, RankExited,
                 SignalReceived, Continued, OutputHeld, OutputClosed, OutputWritten, Tick>;

// Actions. Those without an agent are for every agent that has a Spec and has not said Cleared.
struct OpenAgent {
  int agent = 0;  // the next number
  int host = 0;   // of the roster: nodes of the first placement, then spares
  friend bool operator==(const OpenAgent&, const OpenAgent&) = default;
};
struct SendSpec {
  int agent = 0;
  int node = 0;
  friend bool operator==(const SendSpec&, const SendSpec&) = default;
};
struct FindMaster {  // answered by MasterFound or MasterMissing
  std::uint16_t master_port = 0;
  bool known = false;  // found before, for the same agents: node 0 has but to shut its door
  friend bool operator==(const FindMaster&, const FindMaster&) = default;
};
struct SendGo {
  std::uint16_t master_port = 0;
  friend bool operator==(const SendGo&, const SendGo&) = default;
};
struct SignalRanks {  // their main processes
  int signo = 0;
  friend bool operator==(const SignalRanks&, const SignalRanks&) = default;
};
struct StopRanks {  // TERM to main processes, KILL to all after the grace
  std::chrono::milliseconds grace{};
  friend bool operator==(const StopRanks&, const StopRanks&) = default;
};
struct KillRanks {
  friend bool operator==(const KillRanks&, const KillRanks&) = default;
};
struct SuspendRanks {  // to all agents, as ResumeRanks and SendHeartbeats
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
struct SendSweep {  // answered by AgentSwept
  int agent = 0;
  friend bool operator==(const SendSweep&, const SendSweep&) = default;
};
struct DismissAgent {  // it has nothing to do and shall end; AgentDone follows
  int agent = 0;
  friend bool operator==(const DismissAgent&, const DismissAgent&) = default;
};
struct CloseAgent {  // drop the channel; the agent then ends what it runs
  int agent = 0;
  friend bool operator==(const CloseAgent&, const CloseAgent&) = default;
};
struct Say {  // one or more lines on standard error, without "dslaunch: "
  std::string text{};
  friend bool operator==(const Say&, const Say&) = default;
};
struct FlushOutput {  // nothing more comes of the ranks; answered by OutputWritten or OutputClosed
  friend bool operator==(const FlushOutput&, const FlushOutput&) = default;
};
struct Conclude {  // tell the verdict and leave with its code; the last action
  JobVerdict verdict{};
};
using Action = std::variant<OpenAgent, SendSpec, FindMaster, SendGo, SignalRanks, StopRanks,
                            KillRanks, SuspendRanks, SuspendSelf, ResumeRanks, SendHeartbeats,
                            SendSweep, DismissAgent, CloseAgent, Say, FlushOutput, Conclude>;

}  // namespace ds::launcher
