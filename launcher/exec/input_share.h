// Tracks how much of the standard input each node has received. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// The slowest running command sets the pace. Commands that have ended and lost nodes never hold up
/// the others.
class InputShare {
 public:
  /// `waiting_count`: nodes that have not started also set the pace. False with a fan-out: they
  /// wait for commands to end, and those may wait for the end of the input.
  InputShare(int nodes, bool waiting_count);

  /// Marks the command of a node as running; it gets all input from the first byte.
  void started(int node);
  /// Marks a node as ended or lost; it receives nothing more.
  void left(int node);
  /// Counts `bytes` that the command of a node has read or discarded.
  void taken(int node, std::uint64_t bytes);
  /// Counts `bytes` read from standard input; `last`: the file ends after them.
  void read(std::uint64_t bytes, bool last);

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
  struct Node {
    enum class Stage { waiting, running, left };
    Stage stage = Stage::waiting;
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    bool told_end = false;
  };
  [[nodiscard]] Node& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }

  std::vector<Node> nodes_;
  bool waiting_count_;
  std::uint64_t end_ = 0;  // number of bytes read
  bool ended_ = false;
};

}  // namespace ds::launcher::exec
