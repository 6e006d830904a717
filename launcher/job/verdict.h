// What dslaunch says about how a job went. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/job/events.h"

namespace ds::launcher {

/// Why a job was stopped before all ranks had ended well.
struct Cause {
  enum class Kind { none, rank, node, unreachable, signal, output };
  Kind kind = Kind::none;
  int rank = 0;          // of Kind::rank
  int node = 0;          // of Kind::rank and Kind::node
  RankEnd end{};         // of Kind::rank
  int signo = 0;         // of Kind::signal
  std::string reason{};  // of Kind::node
};

/// What happened to the other ranks then.
struct Aftermath {
  int stopped = 0;  // ended after the cause
  int killed = 0;   // of them: by KILL
  std::vector<int> lost_nodes{};
};

/// The exit code of dslaunch.
int exit_code(const Cause& cause);

/// The last words; empty for a job that ended well.
std::string verdict(const Placement& placement, const Cause& cause, const Aftermath& aftermath);
/// While the others take their time to stop.
std::string waiting_text(const Placement& placement, const Cause& cause, int ranks_left,
                         std::chrono::milliseconds left);

struct BadNode {
  int node = 0;
  std::string reason{};
};
/// Every node that could not be used, one a line.
std::string unreachable_text(const Placement& placement, const std::vector<BadNode>& bad);

/// "rank 3 on node01".
std::string rank_name(const Placement& placement, int rank);
/// `text` with control bytes shown as '?': names and reasons come from elsewhere.
std::string printable(std::string_view text);

}  // namespace ds::launcher
