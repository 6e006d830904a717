// What each node has written, held once for all nodes that have written the same. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ds::launcher::exec {

/// Nodes with the same output.
struct OutputGroup {
  std::vector<int> nodes;               // rising
  std::vector<std::string_view> lines;  // without newlines; valid while the tree lives
  bool cut = false;                     // the output was longer than what is held
};

/// A tree of lines: a node's output is the path to where it stands. A thousand equal outputs take
/// the room of one.
class OutputTree {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;

  /// Beyond `most_bytes`, counting the tree itself, outputs are cut.
  explicit OutputTree(int nodes, std::size_t most_bytes = kMostBytes);

  /// The next bytes of one stream (1 or 2) of a node. Lines of both streams stand in the order in
  /// which they were finished. Of a line with '\r' inside counts what a terminal would show last.
  void add(int node, int stream, std::string_view text);
  /// No more comes: lines without a newline count as lines.
  void finish();

  /// Nodes that have written anything, and those of `silent` (by node; may be empty) that have
  /// not. Order: most nodes first, then by the first node.
  [[nodiscard]] std::vector<OutputGroup> groups(const std::vector<bool>& silent = {}) const;

 private:
  struct Place {
    std::uint32_t parent = 0;
    std::uint32_t line = 0;
  };
  struct NodeOutput {
    std::uint32_t place = 0;  // 0: nothing yet
    std::string open[2];      // a line without its newline, by stream
    bool cut = false;
  };

  bool take_room(std::size_t bytes);
  void add_line(NodeOutput& output, std::string_view line);
  [[nodiscard]] std::vector<std::string_view> lines_to(std::uint32_t place) const;

  std::vector<NodeOutput> outputs_;
  std::vector<Place> places_{Place{}};
  std::unordered_map<std::uint64_t, std::uint32_t> next_;  // (place, line) -> place
  std::deque<std::string> lines_;
  std::unordered_map<std::string_view, std::uint32_t> line_ids_;  // views into lines_
  std::size_t room_;
};

}  // namespace ds::launcher::exec
