// Who has how much of the standard input that every node gets a copy of. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// The slowest command that runs sets the pace; one that has ended, or whose node is gone, never
/// holds up the others.
class InputShare {
 public:
  /// `waiting_count`: nodes that have not started yet set the pace too. (Not with a fan-out: they
  /// wait for others to end, and those may wait for the end of the input.)
  InputShare(int nodes, bool waiting_count);

  /// The command of a node runs: it gets everything from the beginning on.
  void started(int node);
  /// The command has ended, or the node is gone: it gets nothing more.
  void left(int node);
  /// The command of a node has taken so much, or does not want it.
  void taken(int node, std::uint64_t bytes);
  /// So much more has been read; `last`: and then the file ended.
  void read(std::uint64_t bytes, bool last);

  struct Piece {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
    bool last = false;  // the end of the file comes with it
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// What a node may be sent now; it counts as sent.
  std::optional<Piece> next(int node);

  /// So much may be read now.
  [[nodiscard]] std::uint64_t room() const;
  /// Nobody will be sent anything before this position.
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
  std::uint64_t end_ = 0;  // of what has been read
  bool ended_ = false;
};

}  // namespace ds::launcher::exec
