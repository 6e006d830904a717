// MPI fences of a whole job at the root: waits for every node, passes on the pairs, and names the
// ranks that are missing. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Why a fence does not complete.
struct FenceProblem {
  std::vector<int> ranks{};            // that have not joined it, ascending
  std::chrono::milliseconds waited{};  // 0: those ranks have ended
  friend bool operator==(const FenceProblem&, const FenceProblem&) = default;
};

/// Promise: each pair is sent once to every node but its own. A fence that cannot complete, because
///          a rank has ended, or does not complete within `timeout`, is one problem. A second join
///          of a node that waits is ignored.
/// Cost:    memory and traffic of nodes x pairs at a fence.
/// Threads: one.   Errors: none.
class FenceGather {
 public:
  /// `timeout`: from the first rank that is known to wait; 0: never.
  explicit FenceGather(std::chrono::milliseconds timeout = {}) : timeout_(timeout) {}

  /// Begins an epoch; `ranks` has the ranks of each node.
  void begin(std::vector<std::vector<int>> ranks);
  void take(int node, FenceIn&& message, Clock::time_point now);
  void take(int node, const FenceWaits& message, Clock::time_point now);
  /// The rank has ended, and the job goes on without it.
  void ended(int rank);
  void tick(Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const { return due_; }
  /// Lets the deadline begin again: the job was suspended.
  void resume(Clock::time_point now) {
    if (due_ != Clock::time_point::max()) due_ = now + timeout_;
  }

  struct Release {
    int node = 0;
    FenceOut message{};
    friend bool operator==(const Release&, const Release&) = default;
  };
  /// Returns the next message of a fence that has completed; nothing after the last one. Called
  /// until then after each take(), so that only one node's copy of the pairs is in memory here.
  std::optional<Release> next_release();
  std::optional<FenceProblem> take_problem() { return std::exchange(problem_, std::nullopt); }

 private:
  struct NodeFence {
    std::vector<int> ranks;
    bool joined = false;
    std::optional<std::vector<int>> missing{};  // as the node has reported it
    KeyValues pairs{};                          // of this fence
  };

  NodeFence& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] bool knows(int index) const {
    return index >= 0 && static_cast<std::size_t>(index) < nodes_.size();
  }
  void wait_from(Clock::time_point now);
  void look_for_ended();
  void prepare_release(std::size_t to);
  [[nodiscard]] std::vector<int> missing() const;

  std::chrono::milliseconds timeout_;
  std::vector<NodeFence> nodes_;
  std::size_t joined_ = 0;
  std::set<int> ended_;
  bool waits_ = false;  // some rank waits in a fence
  Clock::time_point due_ = Clock::time_point::max();
  std::size_t next_to_ = 0;  // the next node to release, of a completed fence
  std::deque<Release> prepared_;
  std::optional<FenceProblem> problem_;
};

}  // namespace ds::launcher
