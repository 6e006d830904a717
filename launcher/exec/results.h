// How a command went on each node, and the sentences about it. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/job/rank_end.h"

namespace ds::launcher::exec {

struct NodeResult {
  enum class Kind {
    none,         // not ended
    exited,       // `end` says how
    unreachable,  // `reason` names host and cause
    lost,         // after its agent had greeted; `reason`
    timed_out,    // stopped because of -u
    stopped,      // by a signal to dslaunch, or by -k
    not_started   // the same, before the command ran
  };
  Kind kind = Kind::none;
  RankEnd end{};
  std::string reason{};
  std::string stage{};  // of unreachable: how far it got
  friend bool operator==(const NodeResult&, const NodeResult&) = default;
};

/// What the node adds to the exit code of -S: its command's code, 128 + signal, 69 if it was not
/// reached or was lost, 124 after its time was up.
int code_of(const NodeResult& result);

/// One line for each way to end other than well, with the nodes of it folded; nodes that could not
/// be reached last, under a line of their own. Empty if every command ended with 0. `names` and
/// `results` go together.
std::string results_text(const std::vector<std::string>& names,
                         const std::vector<NodeResult>& results);

/// Where each node stands, for whoever interrupts: "node[01-03]: running".
enum class NodeStage { waiting, connecting, running, gone };
std::string stages_text(const std::vector<std::string>& names,
                        const std::vector<NodeStage>& stages);

}  // namespace ds::launcher::exec
