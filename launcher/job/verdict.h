// The end of a rank and the outcome of a job as values, and their text for the user. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/exit_status.h"
#include "launcher/fleet/fleet.h"
#include "launcher/hosts/placement.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct RankEnd {
  ExitStatus status = ExitStatus::lost();
  std::string cause{};  // it never ran: "cannot run ./a.out: Permission denied"
  std::string note{};   // from its node: "out of memory, ..."
  friend bool operator==(const RankEnd&, const RankEnd&) = default;
};

/// Decodes an agent's report. 127: not found, 126: found but not executable, as in shells; 65:
/// the working directory does not exist.
RankEnd rank_end(const Exited& exited);

/// Returns "exited 7", "killed by SIGKILL: out of memory", "cannot run ./a.out: not found".
std::string describe(const RankEnd& end);

/// When a rank ended, as far as known.
struct ExitTime {
  std::uint64_t there = 0;  // by its agent's clock; 0: not known
  std::optional<Clock::time_point> here{};
  std::chrono::nanoseconds error{};  // of `here`
};

/// A node that could not be used.
struct BadNode {
  int node = 0;
  std::string reason{};
  std::string stage{};  // the last one reached, as in transport.h; empty: it had started
};

/// Why a job was stopped before all its ranks had exited with 0.
struct Cause {
  enum class Kind {
    none,
    rank,
    node,
    unreachable,
    signal,
    output,
    deadline,
    skew,
    input,
    mpi,   // the MPI library of a rank
    fence  // ranks that others wait for
  };
  Kind kind = Kind::none;
  int rank = 0;                      // of Kind::rank and Kind::mpi
  int node = 0;                      // of these and of Kind::node
  RankEnd end{};                     // of Kind::rank
  ExitTime time{};                   // of a rank; of Kind::node: when it was last heard
  int signo = 0;                     // of Kind::signal
  std::string reason{};              // of Kind::node and Kind::unreachable; of Kind::deadline and
                                     // Kind::signal, if no rank began or output is dropped; of
                                     // Kind::output, if it is not merely closed; of Kind::input
                                     // and Kind::mpi
  std::vector<int> running{};        // of Kind::deadline and Kind::skew: ranks still running; of
                                     // Kind::fence: ranks that are missing
  std::chrono::milliseconds span{};  // of Kind::deadline, Kind::skew and Kind::fence
  std::string note{};                // why no restart followed
  std::vector<BadNode> bad{};        // of Kind::unreachable
  int code = 1;                      // of Kind::mpi, as the rank gave it
};

/// Returns whether one rank is the cause.
inline bool is_of_rank(const Cause& cause) {
  return cause.kind == Cause::Kind::rank || cause.kind == Cause::Kind::mpi;
}

/// The end of one rank in the last epoch.
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
  int swept_by = -1;         // the agent that was dialed for it
  std::uint32_t killed = 0;  // of Sweep::done
  bool told = false;         // while the job ran: the verdict need not repeat it
};

struct RestartRecord {
  std::string why{};
  std::optional<std::chrono::microseconds> took{};  // from failure until all ranks ran
};

/// How one epoch followed another in a job whose number of nodes may change.
struct EpochRecord {
  enum class Kind { start, lost, failed, paused, joined, left };
  Kind kind = Kind::start;
  std::string why{};        // one line; empty: the start of the job
  bool counted = false;     // against --max-restarts
  std::uint64_t epoch = 0;  // the new one
  int nodes_before = 0, nodes = 0;
  int ranks_before = 0, ranks = 0;
  // Of a lost node: from its last message until the loss was noticed. Of a pause that the launcher
  // ordered: from the order until the first rank had paused.
  std::chrono::microseconds seen{};
  // From then on, or from the start of the job: until no rank of the earlier epoch ran, until the
  // new one had its nodes, until all its ranks ran.
  std::optional<std::chrono::microseconds> stopped{}, placed{}, started{};
  /// Of a training: until all ranks had begun each phase of their start.
  std::vector<std::pair<std::string, std::chrono::microseconds>> reached{};
};

struct JobVerdict {
  Placement placement;  // of the last epoch
  Cause cause{};
  bool began = false;  // ranks of the last epoch ran
  std::vector<RankRecord> ranks{};
  std::vector<int> unanswered{};  // nodes that were given up
  std::vector<NodeLoss> losses{};
  std::vector<RestartRecord> restarts{};
  std::vector<EpochRecord> epochs{};    // of a job whose number of nodes may change
  std::vector<std::string> replaced{};  // "n2 by n5: connection refused"
  std::chrono::milliseconds ran{};      // from its start to its end
};

/// Said when a signal ends the wait for the reader of the output.
inline constexpr std::string_view kOutputDropped = "output that was not read is dropped";

/// Returns the exit code of dslaunch.
int exit_code(const Cause& cause);

/// Returns one line: what happened, where and why.
std::string cause_text(const Placement& placement, const Cause& cause);
/// Returns the line about the leftover processes of a lost node.
std::string loss_text(const NodeLoss& loss);
/// Returns the last line: the cause and the end of other ranks; empty for a job that ended well.
std::string headline(const JobVerdict& verdict);
/// Returns the line that is shown while other ranks are still stopping.
std::string waiting_text(const std::string& why, int ranks_left, std::chrono::milliseconds left);

/// Returns every node that could not be used, as a table; a single node as a line.
std::string unreachable_text(const Placement& placement, const std::vector<BadNode>& bad);

/// Returns why no restart can follow: no host is left for the `vacant` nodes.
std::string no_host_text(const Placement& placement, const std::vector<BadNode>& vacant);

/// Returns "[0-2,5] on node01; [7] on node02".
std::string ranks_by_node(const Placement& placement, const std::vector<int>& ranks);
/// Returns the name of a node's host.
const std::string& node_name(const Placement& placement, int node);
/// Returns "rank 3 on node01".
std::string rank_name(const Placement& placement, int rank);
/// Formats numbers in rising order as "[0-2,5]".
std::string number_ranges(const std::vector<int>& numbers);
/// Equal texts, each once with its items, in the order of first appearance.
template <class Item>
class ByText {
 public:
  void add(const std::string& text, Item item) {
    const auto [known, is_new] = index_.try_emplace(text, groups_.size());
    if (is_new) groups_.push_back({text, {}});
    groups_[known->second].second.push_back(std::move(item));
  }
  [[nodiscard]] auto begin() const { return groups_.begin(); }
  [[nodiscard]] auto end() const { return groups_.end(); }

 private:
  std::vector<std::pair<std::string, std::vector<Item>>> groups_;
  std::map<std::string, std::size_t> index_;
};
/// Returns the reason without the name of its node in front.
std::string_view without_name(const std::string& node, std::string_view reason);
/// Returns `text` with control bytes replaced by '?': names and reasons come from other machines.
std::string printable(std::string_view text);

}  // namespace ds::launcher
