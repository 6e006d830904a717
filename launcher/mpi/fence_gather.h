// Fences of MPI libraries at the root: waits for every node that takes part, joins their data, and
// names the ranks that are missing. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Bytes of data in one frame of a fence; more data is sent in several frames.
inline constexpr std::size_t kFenceFrameBytes = std::size_t{1} << 20;

/// Why a fence does not complete.
struct FenceProblem {
  std::vector<int> ranks{};            // that have not joined it, ascending
  std::chrono::milliseconds waited{};  // 0: those ranks have ended
  friend bool operator==(const FenceProblem&, const FenceProblem&) = default;
};

/// Promise: every node of a fence gets the same messages, with the data of all its nodes in their
///          order. A fence that cannot complete because a rank has ended is one problem. A second
///          join of a node that waits is ignored.
/// Cost:    memory of the data of open fences, once.
/// Threads: one.   Errors: none.
class FenceGather {
 public:
  /// `timeout`: for the job's first fence, from the first rank that is known to wait; 0: none. In
  /// later fences ranks may wait for one that computes, so only the end of a rank is a problem.
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
    std::vector<int> nodes;
    FenceOut message{};
    friend bool operator==(const Release&, const Release&) = default;
  };
  /// Returns the next message of fences that have completed; nothing after the last one.
  std::optional<Release> next_release();
  std::optional<FenceProblem> take_problem() { return std::exchange(problem_, std::nullopt); }

 private:
  struct Part {  // of one node
    bool joined = false;
    std::deque<std::string> data{};
  };
  struct Fence {
    std::map<int, Part> parts;  // by node
    std::set<int> ranks{};      // that take part; empty: all
    std::size_t joined = 0;
  };

  [[nodiscard]] bool knows(int node) const {
    return node >= 0 && static_cast<std::size_t>(node) < ranks_.size();
  }
  Fence& fence_of(const FenceIn& message);
  void wait_from(Clock::time_point now);
  void stop_waiting() {
    waits_ = false;
    due_ = Clock::time_point::max();
  }
  void look_for_ended();
  void release(const std::string& name, Fence fence);
  [[nodiscard]] std::vector<int> missing(const Fence& fence) const;
  [[nodiscard]] std::vector<int> missing_in_first() const;

  std::chrono::milliseconds timeout_;
  std::vector<std::vector<int>> ranks_;      // of each node
  std::map<std::string, Fence> fences_;      // open ones, by name
  std::map<int, std::vector<int>> waiting_;  // missing ranks of a node, as it has reported them
  std::set<int> ended_;
  bool first_done_ = false;
  bool waits_ = false;  // some rank waits in the first fence
  Clock::time_point due_ = Clock::time_point::max();
  std::uint64_t completed_ = 0;
  std::deque<Release> prepared_;
  std::optional<FenceProblem> problem_;
};

}  // namespace ds::launcher
