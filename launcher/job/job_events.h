// Events and actions of JobState, beside those of agents (fleet_events.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/fleet/fleet_events.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

// Events.
struct MasterFound {};  // an address of node 0 that all nodes reach is known
struct MasterMissing {  // no address of node 0 can be reached by all nodes
  std::string text{};
  std::vector<int> cut_off{};  // nodes that do not reach the address that most nodes reach
};
struct RankStarted {
  int rank = 0;
  int pid = 0;
};
struct PhaseReached {  // of the start of a training, by all ranks
  std::string name{};
  Clock::time_point at{};
};
struct StatesTold {  // what becomes of the states of a training, as its rank 0 has told
  bool may_pause = true;      // they are kept or saved when all ranks pause
  bool saves_at_stop = true;  // they are saved before a signal ends the ranks
};
struct RanksHeld {};  // all ranks have started and are stopped, for a debugger
struct RankExited {
  int rank = 0;
  RankEnd end{};
  ExitTime time{};
};
struct MpiRankFailed {  // the MPI library of a rank ends the job
  int rank = 0;
  int code = 1;        // for the exit code
  std::string text{};  // follows the name of the rank
  ExitTime time{};
};
struct FenceFailed {  // ranks wait for others that do not join them
  std::vector<int> ranks{};
  std::chrono::milliseconds waited{};  // 0: those ranks have ended
};
struct InputFailed {  // standard input cannot be read
  std::string reason{};
};
struct OutputWritten {};  // after FlushOutput: all is written or abandoned
// Of jobs whose number of nodes may change:
struct HostAdded {  // a new host, or one that was retired
  Host host{};
};
struct HostRetired {  // shall leave the job
  int host = 0;       // as Roster::host_number
};
struct HostsEnd {  // their nodes were told to end: they leave, and may come back
  std::vector<int> hosts{};
};
struct HostChecked {  // answers CheckHost
  int agent = 0;
  std::string problem{};  // why its host cannot take part; empty: it can
};
struct SizeWanted {  // the number of nodes that the job shall have at most
  int nodes = 0;
};
using Event = std::variant<Start, AgentGreeted, AgentReady, MasterFound, MasterMissing, AgentHeard,
                           AgentCleared, AgentSwept, AgentDone, AgentLost, RankStarted, RanksHeld,
                           PhaseReached, StatesTold, RankExited, MpiRankFailed, FenceFailed,
                           SignalReceived, Continued, OutputHeld, OutputClosed, InputFailed,
                           OutputWritten, HostAdded, HostRetired, HostsEnd, HostChecked, SizeWanted,
                           Tick>;

// Actions beside those of agents.
struct FindMaster {  // answered by MasterFound or MasterMissing
  std::uint16_t master_port = 0;
  bool known = false;  // found before, for the same agents: node 0 only closes its listening socket
};
struct CheckHost {  // whether the ranks could run on the host of an idle agent
  int agent = 0;
};
struct SendGo {  // to every agent that has a Spec, as SignalRanks
  std::uint16_t master_port = 0;
};
struct SignalRanks {  // signals their main processes
  int signo = 0;
};
struct PauseRanks {};   // of a training: all end the same step, keep it, and exit with 94
struct LetGo {          // the node of this host may end once its agent has ended
  int host = 0;
};
struct FlushOutput {};  // ranks write nothing more; answered by OutputWritten or OutputClosed
struct Conclude {       // print the verdict and exit with its code; the last action
  JobVerdict verdict{};
};
using Action =
    std::variant<OpenAgent, SendSpec, FindMaster, CheckHost, SendGo, SignalRanks, StopAgent, KillAgent,
                 SuspendAgents, SuspendSelf, ResumeAgents, SendHeartbeats, SendSweep, DismissAgent,
                 CloseAgent, Say, PauseRanks, LetGo, FlushOutput, Conclude>;

}  // namespace ds::launcher
