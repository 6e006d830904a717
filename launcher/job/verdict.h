// How a job went, as a value, and what dslaunch says about it. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/rank_end.h"

namespace ds::launcher {

/// When a rank ended, as well as it is known.
struct ExitTime {
  std::uint64_t there = 0;  // by its agent's clock; 0: not known
  std::optional<Clock::time_point> here{};
  std::chrono::nanoseconds error{};  // of `here`
};

/// A node that could not be used.
struct BadNode {
  int node = 0;
  std::string reason{};
  std::string stage{};  // how far it got, as transport.h names it; empty: it had started
};

/// Why a job was stopped before all ranks had ended well.
struct Cause {
  enum class Kind { none, rank, node, unreachable, signal, output, deadline, skew };
  Kind kind = Kind::none;
  int rank = 0;                // of Kind::rank
  int node = 0;                // of Kind::rank and Kind::node
  RankEnd end{};               // of Kind::rank
  ExitTime time{};             // of Kind::rank; of Kind::node: when it was last heard
  int signo = 0;               // of Kind::signal
  std::string reason{};        // of Kind::node and Kind::unreachable; of Kind::deadline, if no rank
                               // began; of Kind::output, if it is not merely closed
  std::vector<int> running{};  // of Kind::deadline and Kind::skew: ranks that still ran
  std::chrono::milliseconds span{};  // of Kind::deadline and Kind::skew
  std::string note{};                // why it was not followed by a restart
  std::vector<BadNode> bad{};        // of Kind::unreachable
};

/// The course of one rank in the last epoch.
struct RankRecord {
  RankEnd end{};
  bool ended = false;
  bool after_cause = false;  // it had begun, and ended after the cause was known
  int pid = 0;
};

/// A node that was lost while its ranks ran.
struct NodeLoss {
  enum class Sweep { pending, done, unreached };
  int node = 0;
  std::string host{};
  std::string reason{};
  Sweep sweep = Sweep::pending;
  int swept_by = -1;         // the agent that was to do it
  std::uint32_t killed = 0;  // of Sweep::done
};

struct RestartRecord {
  std::string why{};
  std::optional<std::chrono::microseconds> took{};  // from the failure until all ranks ran again
};

struct JobVerdict {
  Placement placement;  // of the last epoch
  Cause cause{};
  bool began = false;  // ranks of the last epoch ran
  std::vector<RankRecord> ranks{};
  std::vector<int> unanswered{};  // nodes that were given up
  std::vector<NodeLoss> losses{};
  std::vector<RestartRecord> restarts{};
  std::vector<std::string> replaced{};  // "n2 by n5: connection refused"
  std::chrono::milliseconds ran{};      // from its start to its end
};

/// The exit code of dslaunch.
int exit_code(const Cause& cause);

/// What happened, where and why: one line.
std::string cause_text(const Placement& placement, const Cause& cause);
/// The last words: the cause and what became of the rest; empty for a job that ended well.
std::string headline(const JobVerdict& verdict);
/// While the others take their time to stop.
std::string waiting_text(const Placement& placement, const Cause& cause, int ranks_left,
                         std::chrono::milliseconds left);

/// Every node that could not be used: a table, or for one alone a line.
std::string unreachable_text(const Placement& placement, const std::vector<BadNode>& bad);

/// "[0-2,5] on node01; [7] on node02".
std::string ranks_by_node(const Placement& placement, const std::vector<int>& ranks);
/// "rank 3 on node01".
std::string rank_name(const Placement& placement, int rank);
/// "[0-2,5]", of numbers in rising order.
std::string number_ranges(const std::vector<int>& numbers);
/// "1 rank", "2 ranks".
std::string count_of(int number, std::string_view noun);
/// "10 s", "1.5 s", "2 min".
std::string span_text(std::chrono::milliseconds span);
/// Why a node that got no further within `span` is given up; `greeted`: its agent has spoken.
std::string not_ready_text(bool greeted, std::chrono::milliseconds span);
/// `text` with control bytes shown as '?': names and reasons come from elsewhere.
std::string printable(std::string_view text);

}  // namespace ds::launcher
