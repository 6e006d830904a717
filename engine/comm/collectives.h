// Seam 3 of 3: Group and Collectives, which move bytes between ranks. Sums are computed elsewhere
// (engine/program/ordered_tree.h), in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/function_ref.h"
#include "engine/comm/activity.h"

namespace ds {

class Stream;

/// An ordered list of global ranks with a name and an epoch.
struct GroupSpec {
  std::string name;
  std::uint64_t epoch = 0;
  std::vector<int> ranks;  // position in this list = rank in the group
};

/// One piece per rank of the group, each anywhere in memory; empty pieces move nothing.
using SendPieces = std::span<const std::span<const std::byte>>;
using ReceivePieces = std::span<const std::span<std::byte>>;

/// One group, as this process sees it. All members issue the same operations in the same order.
/// Errors: Error{comm} naming rank, operation and group when a peer is gone, the deadline passes,
/// the ranks issue different operations, or a rank makes no progress any more. The group is
/// unusable afterwards: destroy it.
/// Threads: one at a time; abort() from any. Several threads may use several groups at once, also
/// groups of the same ranks.
/// Memory: pieces are read and written in place; nothing is packed, and no allocation grows with
/// the bytes of an operation.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual const GroupSpec& spec() const = 0;

  /// Names the purpose of the collectives that follow (for instance the path of an op); must be the
  /// same on every rank. The name is compared between ranks and appears in errors.
  virtual void about(std::string_view path) = 0;

  /// Orders the operations that follow after the work on `stream`. Groups of an accelerator only
  /// issue their operations, which are done when the stream gets there. Operations of all other
  /// groups are done on return.
  virtual void run_on(Stream&) {}
  /// Throws the error of an operation that was issued and failed later. Call it after waiting for
  /// the stream.
  virtual void raise_failure() {}

  /// Sends piece i of `send` to rank i, and receives piece i of `receive` from rank i. The piece
  /// that rank a sends to b must be as long as the piece that b expects from a. The own piece is
  /// copied, unless both spans are the same memory.
  virtual void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) = 0;
  /// Receives piece i from rank i; this rank's own piece must be filled in before the call.
  virtual void all_gather(ReceivePieces pieces, Deadline deadline) = 0;
  /// Combines the members' values, which are equally long (1 MiB at most), in the order of the
  /// ranks, and gives the result to all. `join` adds the right value to the left one; it must be
  /// associative, because the grouping depends on the number of ranks. The memory is the host's,
  /// also on an accelerator.
  using Join = FunctionRef<void(std::span<std::byte> left, std::span<const std::byte> right)>;
  virtual void combine(std::span<std::byte> value, Join join, Deadline deadline) = 0;
  /// Gives the first rank's bytes to all. The memory is the host's.
  void broadcast(std::span<std::byte> data, Deadline deadline) {
    combine(
        data, [](auto, auto) {}, deadline);
  }
  virtual void barrier(Deadline deadline) = 0;
  /// Makes every current and later operation fail: here at once, at the peers soon after.
  virtual void abort() = 0;
};

/// How the hang guard sees a group whose operations run elsewhere. Called on the guard's thread.
struct WatchedCalls {
  /// Gets the reason to give up, and must only record it.
  std::function<void(const std::string&)> give_up{};
  /// Called every 20 ms while it returns true (operations are under way), else every 250 ms at
  /// most. The process was suspended for `gap`, which counts against no deadline; usually zero.
  std::function<bool(Clock::time_point now, Clock::duration gap)> poll{};
};

/// Tells the hang guard about the collectives of one group that are issued here and run elsewhere
/// (NCCL). Threads: one at a time. The destructor ends the call under way.
class CallWatch {
 public:
  virtual ~CallWatch() = default;
  /// Starts a call that this process waits in. `number` is Call::number (rank_report.h).
  virtual void begin(std::uint64_t number, std::string_view operation, std::string_view about,
                     std::uint64_t bytes) = 0;
  /// Ends the call.
  virtual void end() = 0;
  /// Marks the group as failed, so that the other ranks need not wait for this one.
  virtual void fail(const std::string& why) = 0;
};

/// Makes the groups of one process.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// What this process does now, for ranks that wait for it; the code that runs ops keeps it
  /// current.
  [[nodiscard]] virtual Activity& activity() { return *activity_; }
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// Makes a group. Collective over the members. Errors: Error{comm} naming the missing ranks when
  /// `deadline` passes.
  virtual std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) = 0;
  /// Watches a group whose operations run elsewhere (NCCL) for hangs, as groups made here are
  /// watched. Collective over the members. Returns null where nothing guards against hangs.
  virtual std::unique_ptr<CallWatch> watch_calls(const GroupSpec& /*spec*/,
                                                 WatchedCalls /*calls*/) {
    return nullptr;
  }

 protected:
  const std::shared_ptr<Activity> activity_ = std::make_shared<Activity>();
};

}  // namespace ds
