// What can happen while a command runs on many nodes, and what can be done about it: the words of
// ExecState.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "launcher/job/rank_end.h"

namespace ds::launcher::exec {

// Events.
struct Begin {};
struct NodeGreeted {  // its Hello came
  int node = 0;
};
struct NodeReady {  // its command waits for Go
  int node = 0;
};
struct NodeHeard {  // any bytes came
  int node = 0;
};
struct CommandEnded {
  int node = 0;
  RankEnd end{};
};
struct NodeDone {  // its Bye came
  int node = 0;
};
struct NodeLost {  // never reached, or gone without Bye
  int node = 0;
  std::string reason{};
  std::string stage{};  // how far it got, as transport.h names it
};
struct GotSignal {  // HUP, INT, TERM or TSTP
  int signo = 0;
  bool asked = false;  // it is meant: an interrupt stops at once
};
struct Resumed {};  // this process goes on after StopSelf
struct OutputSlow {
};  // the reader of our output is slow, so nodes are not read: they cannot be heard
struct OutputGone {};  // nobody reads standard output any more
struct TimeCame {};    // wake_at() has come
using Event = std::variant<Begin, NodeGreeted, NodeReady, NodeHeard, CommandEnded, NodeDone,
                           NodeLost, GotSignal, Resumed, OutputSlow, OutputGone, TimeCame>;

// Actions. Those without a node are for every node that listens.
struct OpenNode {
  int node = 0;
  friend bool operator==(const OpenNode&, const OpenNode&) = default;
};
struct SendCommand {
  int node = 0;
  friend bool operator==(const SendCommand&, const SendCommand&) = default;
};
struct StartCommand {
  int node = 0;
  friend bool operator==(const StartCommand&, const StartCommand&) = default;
};
struct StopCommand {  // TERM to the command, KILL to all that it made after the grace
  int node = 0;
  std::chrono::milliseconds grace{};
  friend bool operator==(const StopCommand&, const StopCommand&) = default;
};
struct KillCommand {
  int node = 0;
  friend bool operator==(const KillCommand&, const KillCommand&) = default;
};
struct CloseNode {  // drop the channel; the agent then ends what it runs
  int node = 0;
  friend bool operator==(const CloseNode&, const CloseNode&) = default;
};
struct BeatAll {
  friend bool operator==(const BeatAll&, const BeatAll&) = default;
};
struct SuspendAll {
  friend bool operator==(const SuspendAll&, const SuspendAll&) = default;
};
struct StopSelf {  // once the Suspend frames are sent; Resumed follows
  friend bool operator==(const StopSelf&, const StopSelf&) = default;
};
struct ResumeAll {
  friend bool operator==(const ResumeAll&, const ResumeAll&) = default;
};
struct Tell {  // one or more lines on standard error, without "dslaunch: "
  std::string text{};
  friend bool operator==(const Tell&, const Tell&) = default;
};
struct Leave {  // the last action: results() and exit_code() are final
  friend bool operator==(const Leave&, const Leave&) = default;
};
using Action = std::variant<OpenNode, SendCommand, StartCommand, StopCommand, KillCommand,
                            CloseNode, BeatAll, SuspendAll, StopSelf, ResumeAll, Tell, Leave>;

}  // namespace ds::launcher::exec
