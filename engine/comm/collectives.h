// Seam 3 of 3: moving bytes between the ranks of a group. Arithmetic is not here: sums are ours, in
// fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/deadline.h"

namespace ds {

/// An ordered list of global ranks with a name and an epoch. Every operation names its group.
struct GroupSpec {
  std::string name;
  std::uint64_t epoch = 0;
  std::vector<int> ranks;  // position in this list = rank in the group
};

/// One group, as this process sees it. All members issue the same operations in the same order.
/// Errors: Error{comm} naming rank, operation and group when a peer is gone or the deadline passes;
/// the group is
///         unusable afterwards: destroy it.
/// Threads: one at a time; abort() from any.
class Group {
 public:
  virtual ~Group() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual const GroupSpec& spec() const = 0;

  /// Piece i of `send` goes to rank i; piece i of `receive` comes from rank i. Sizes in bytes, per
  /// rank; what rank a sends to b must be as long as what b expects from a. Pieces lie one after
  /// the other.
  virtual void all_to_all(std::span<const std::byte> send, std::span<const std::size_t> send_bytes,
                          std::span<std::byte> receive, std::span<const std::size_t> receive_bytes,
                          Deadline deadline) = 0;
  /// `all` holds every rank's piece one after the other (sizes in bytes, per rank); this rank's own
  /// is filled in.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::size_t> bytes,
                          Deadline deadline) = 0;
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
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int world_size() const = 0;
  /// Collective over the members. Errors: Error{comm} naming the missing ranks when `deadline`
  /// passes.
  virtual std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) = 0;
};

}  // namespace ds
