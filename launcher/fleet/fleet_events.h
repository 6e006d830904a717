// Events and actions of Fleet: what can happen to agents, and what can be done about it. Jobs
// and `dslaunch exec` add their own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

namespace ds::launcher {

// Events.
struct AgentGreeted {  // its Hello arrived
  int agent = 0;
};
struct AgentReady {  // its ranks are prepared and wait
  int agent = 0;
  std::uint16_t port = 0;  // held for MASTER_PORT on node 0
};
struct AgentHeard {  // any bytes arrived
  int agent = 0;
};
struct AgentCleared {  // all processes of this epoch's ranks are gone; the agent stays
  int agent = 0;
};
struct AgentSwept {  // it has killed the processes that an earlier agent left on its host
  int agent = 0;
  std::uint32_t killed = 0;
};
struct AgentDone {  // its Bye arrived
  int agent = 0;
};
struct AgentLost {  // never reached, or gone without Bye; `reason` names host and cause
  int agent = 0;
  std::string reason{};
  std::string stage{};  // how far it got, as transport.h names it
};
struct OutputHeld {};  // an agent's last message may wait behind much output or a slow reader
struct Tick {};        // wake_at() has come

// Events of the process; both policies handle them.
struct Start {};
struct SignalReceived {  // HUP, INT, TERM, TSTP, or one to be forwarded
  int signo = 0;
  bool asked = false;  // by a client of the private socket; always counts
};
struct Continued {};     // the launcher was resumed after SuspendSelf
struct OutputClosed {    // standard output has no reader any more
  std::string reason{};  // why it cannot be written; empty: no reader
};

// Actions.
struct OpenAgent {
  int agent = 0;
  int host = 0;  // as given to Fleet::add
};
struct SendSpec {
  int agent = 0;
  int node = 0;
};
struct StopAgent {  // TERM to the main processes of its ranks, KILL to all after the grace
  int agent = 0;
  std::chrono::milliseconds grace{};
};
struct KillAgent {  // KILL to all processes of its ranks
  int agent = 0;
};
struct SendSweep {  // answered by AgentSwept
  int agent = 0;
};
struct DismissAgent {  // ends an idle agent; AgentDone follows
  int agent = 0;
};
struct CloseAgent {  // closes the channel; the agent then ends its ranks
  int agent = 0;
};
struct SendHeartbeats {};  // to all agents, as SuspendAgents and ResumeAgents
struct SuspendAgents {};
struct SuspendSelf {};  // once the Suspend frames are sent; Continued follows
struct ResumeAgents {};
using FleetAction =
    std::variant<OpenAgent, SendSpec, StopAgent, KillAgent, SendSweep, DismissAgent, CloseAgent,
                 SendHeartbeats, SuspendAgents, SuspendSelf, ResumeAgents>;

struct Say {  // one or more lines on standard error, without "dslaunch: "
  std::string text{};
};

}  // namespace ds::launcher
