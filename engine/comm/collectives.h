// Seam 3 of 3: moving bytes between the ranks of a group. Arithmetic is not here: sums are ours, in
// fixed order.
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
#include "engine/comm/activity.h"
#include "engine/comm/call_watch.h"

namespace ds {

class Stream;

/// An ordered list of global ranks with a name and an epoch. Every operation names its group.
struct GroupSpec {
  std::string name;
  std::uint64_t epoch = 0;
  std::vector<int> ranks;  // position in this list = rank in the group
};

/// A piece per rank of the group, each anywhere in memory; empty ones move nothing.
using SendPieces = std::span<const std::span<const std::byte>>;
using ReceivePieces = std::span<const std::span<std::byte>>;

/// One group, as this process sees it. All members issue the same operations in the same order.
/// Errors: Error{comm} naming rank, operation and group when a peer is gone, the deadline passes,
///         the ranks issue different operations, or one of them does not get on any more; the group
///         is unusable afterwards: destroy it.
/// Threads: one at a time; abort() from any. Several groups, of the same ranks too, may be used by
///         several threads at once.
/// Memory: pieces are read and written where they lie; nothing is packed, and no operation
///         allocates what grows with its bytes.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual const GroupSpec& spec() const = 0;

  /// What the collectives from now on are for, the path of an op for instance: the same on every
  /// rank. It is compared between ranks, and named in errors.
  virtual void about(std::string_view path) = 0;

  /// Operations from now on run in the order of `stream`: those of an accelerator's group are only
  /// issued, and done when the stream gets there; the others are done on return, whatever the
  /// stream.
  virtual void run_on(Stream&) {}
  /// Throws what went wrong with operations that were issued. Whoever waited for the stream calls
  /// it.
  virtual void raise_failure() {}

  /// Piece i of `send` goes to rank i; piece i of `receive` comes from rank i. What rank a sends to
  /// b must be as long as what b expects from a. The own piece is copied, unless both are the same
  /// memory.
  virtual void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) = 0;
  /// Piece i comes from rank i; this rank's own is filled in.
  virtual void all_gather(ReceivePieces pieces, Deadline deadline) = 0;
  virtual void broadcast(std::span<std::byte> data, int root, Deadline deadline) = 0;
  virtual void send(std::span<const std::byte> data, int to, Deadline deadline) = 0;
  virtual void receive(std::span<std::byte> data, int from, Deadline deadline) = 0;
  virtual void barrier(Deadline deadline) = 0;
  /// Makes every operation under way and to come fail at once, here and soon at the peers.
  virtual void abort() = 0;
};

/// Makes groups for one process.
class Collectives {
 public:
  virtual ~Collectives() = default;
  /// What this process does, for the ranks that wait for it; whoever runs ops keeps it true.
  [[nodiscard]] virtual Activity& activity() { return *activity_; }
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// Collective over the members. Errors: Error{comm} naming the missing ranks when `deadline`
  /// passes.
  virtual std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) = 0;
  /// For groups whose operations run elsewhere: hangs in them are found as in the groups made here,
  /// and told by `give_up`, with the reason; it is called on another thread and must only take
  /// note. Every member makes the same ones in the same order. Null: nothing here guards against
  /// hangs.
  virtual std::unique_ptr<CallWatch> watch_calls(
      const GroupSpec& /*spec*/, std::function<void(const std::string&)> /*give_up*/) {
    return nullptr;
  }

 protected:
  const std::shared_ptr<Activity> activity_ = std::make_shared<Activity>();
};

}  // namespace ds
