// Result of a command on each node, and its text for users. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/job/verdict.h"

namespace ds::launcher::exec {

struct NodeResult {
  enum class Kind {
    none,         // has not ended
    exited,       // details in `end`
    unreachable,  // `reason` contains host and cause
    lost,         // after the agent's Hello; see `reason`
    timed_out,    // stopped because of -u
    stopped,      // by a signal to dslaunch, or by -k
    not_started   // stopped before the command ran
  };
  Kind kind = Kind::none;
  RankEnd end{};
  std::string reason{};
  std::string stage{};  // for unreachable: the stage that was reached
  friend bool operator==(const NodeResult&, const NodeResult&) = default;
};

/// Returns the exit code of the node for -S: that of its command, 128 + signal, 69 if the node was
/// unreachable or lost, or 124 after the time limit.
int code_of(const NodeResult& result);

/// Returns one line per kind of failure, with its nodes folded, and then a table of the nodes that
/// could not be reached. Empty if every command exited with 0. `names` and `results` have one entry
/// per node.
std::string results_text(const std::vector<std::string>& names,
                         const std::vector<NodeResult>& results);

/// Stage of a node in the list that an interrupt prints: "node[01-03]: running".
enum class NodeStage { waiting, connecting, running, gone };
std::string stages_text(const std::vector<std::string>& names,
                        const std::vector<NodeStage>& stages);

/// Returns one line with the folded node names and the number of processes; empty if no process was
/// killed. `names` and `killed` have one entry per node.
std::string killed_text(const std::vector<std::string>& names,
                        const std::vector<std::uint32_t>& killed);

}  // namespace ds::launcher::exec
