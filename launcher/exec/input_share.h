// Standard input for many nodes: how much each has received, and the bytes that some still need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// The slowest running command sets the pace. Commands that have ended and lost nodes never hold up
/// the others.
class InputShare {
 public:
  /// `waiting_count`: nodes that have not started also set the pace. False with a fan-out: they
  /// wait for commands to end, and those may wait for the end of the input.
  InputShare(int nodes, bool waiting_count)
      : nodes_(static_cast<std::size_t>(nodes)), waiting_count_(waiting_count) {}

  /// Marks the command of a node as running; it gets all input from the first byte.
  void started(int node) {
    if (stage(node) == Stage::waiting) stage(node) = Stage::running;
  }
  /// Marks a node as ended or lost; it receives nothing more.
  void left(int node) { stage(node) = Stage::left; }
  /// Counts `bytes` that the command of a node has read or discarded.
  void taken(int node, std::uint64_t bytes) {
    Node& known = this->node(node);
    known.taken += std::min(bytes, known.sent - known.taken);
  }
  /// Counts `bytes` read from standard input; `last`: the file ends after them.
  void read(std::uint64_t bytes, bool last) {
    end_ += bytes;
    ended_ = ended_ || last;
  }

  struct Piece {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
    bool last = false;  // the file ends with this piece
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// Returns the piece that a node may be sent now, and marks it as sent.
  std::optional<Piece> next(int node);

  /// Returns the number of bytes that may be read now.
  [[nodiscard]] std::uint64_t room() const;
  /// Returns the position before which no node needs input any more.
  [[nodiscard]] std::uint64_t needed_from() const;

 private:
  enum class Stage { waiting, running, left };
  struct Node {
    Stage stage = Stage::waiting;
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    bool told_end = false;
  };
  [[nodiscard]] Node& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] Stage& stage(int index) { return node(index).stage; }

  std::vector<Node> nodes_;
  bool waiting_count_;
  std::uint64_t end_ = 0;  // number of bytes read
  bool ended_ = false;
};

/// Positions count from the first byte that was added.
class InputStore {
 public:
  /// Larger amounts go to a file in TMPDIR, else /tmp.
  static constexpr std::size_t kInMemory = std::size_t{1} << 20;

  /// Errors:  Error{system} if the file cannot be written.
  void add(std::span<const std::byte> bytes);
  /// Allows the store to drop all bytes before `position`.
  void forget(std::uint64_t position);
  /// Errors:  Error{system} if the file cannot be read.
  [[nodiscard]] std::vector<std::byte> get(std::uint64_t from, std::uint64_t count) const;
  [[nodiscard]] bool on_disk() const { return static_cast<bool>(file_); }

 private:
  void move_to_disk();
  void write(std::span<const std::byte> bytes);

  std::vector<std::byte> bytes_;  // from begin_ on; empty once the file exists
  std::uint64_t begin_ = 0;
  std::uint64_t file_size_ = 0;  // the file begins at begin_
  UniqueFd file_;
};

}  // namespace ds::launcher::exec
