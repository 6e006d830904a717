// Tree of a copy to many nodes: chooses the parent that sends the files to each node. Pure.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>

namespace ds::launcher::copy {

/// Gives each node a parent: the root while it has room, else the node that began to serve first
/// and has room. So a copy to any number of nodes leaves the root only a few times.
class CopyTree {
 public:
  /// `children`: nodes that the root and each node send to; 0: the root sends to all.
  explicit CopyTree(int children) : children_(children), root_room_(children) {}

  [[nodiscard]] bool used() const { return children_ > 0; }
  /// Returns the parent of a new node; nothing: the root.
  std::optional<int> parent_for_new_node() {
    if (root_room_ > 0) {
      --root_room_;
      return std::nullopt;
    }
    if (room_.empty()) return std::nullopt;
    const int parent = room_.front().node;
    if (--room_.front().room == 0) room_.pop_front();
    return parent;
  }
  /// The node listens for others from now on.
  void add(int node) { room_.push_back({node, children_}); }
  /// The node cannot be anybody's parent any more.
  void remove(int node) {
    std::erase_if(room_, [node](const Parent& known) { return known.node == node; });
  }

 private:
  struct Parent {
    int node = 0;
    int room = 0;
  };
  int children_;
  int root_room_;
  std::deque<Parent> room_;
};

}  // namespace ds::launcher::copy
