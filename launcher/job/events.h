// Events and actions of JobState: what can happen to a job, and what can be done about it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "launcher/fleet/fleet_events.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

// Events beside those of agents (fleet_events.h).
struct MasterFound {};  // an address of node 0 that all nodes reach is known
struct MasterMissing {  // no address of node 0 can be reached by all nodes
  std::string text{};
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
struct OutputWritten {};  // after FlushOutput: all is written or abandoned
using Event =
    std::variant<Start, AgentGreeted, AgentReady, MasterFound, MasterMissing, AgentHeard,
                 AgentCleared, AgentSwept, AgentDone, AgentLost, RankStarted, RankExited,
                 SignalReceived, Continued, OutputHeld, OutputClosed, OutputWritten, Tick>;

// Actions beside those of agents.
struct FindMaster {  // answered by MasterFound or MasterMissing
  std::uint16_t master_port = 0;
  bool known = false;  // found before, for the same agents: node 0 only closes its listening socket
  friend bool operator==(const FindMaster&, const FindMaster&) = default;
};
struct SendGo {  // to every agent that has a Spec, as SignalRanks
  std::uint16_t master_port = 0;
  friend bool operator==(const SendGo&, const SendGo&) = default;
};
struct SignalRanks {  // signals their main processes
  int signo = 0;
  friend bool operator==(const SignalRanks&, const SignalRanks&) = default;
};
struct FlushOutput {  // ranks write nothing more; answered by OutputWritten or OutputClosed
  friend bool operator==(const FlushOutput&, const FlushOutput&) = default;
};
struct Conclude {  // print the verdict and exit with its code; the last action
  JobVerdict verdict{};
};
using Action = std::variant<OpenAgent, SendSpec, FindMaster, SendGo, SignalRanks, StopAgent,
                            KillAgent, SuspendAgents, SuspendSelf, ResumeAgents, SendHeartbeats,
                            SendSweep, DismissAgent, CloseAgent, Say, FlushOutput, Conclude>;

}  // namespace ds::launcher
