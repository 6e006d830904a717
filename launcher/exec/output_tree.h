// Stores the output of each node, once for all nodes with equal output. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ds::launcher::exec {

/// Nodes with the same output.
struct OutputGroup {
  std::vector<int> nodes;               // ascending
  std::vector<std::string_view> parts;  // whole lines; valid while the tree lives
  bool cut = false;                     // the output exceeded the limit
};

/// A tree of texts. A node stands at an offset of one text, and its output is the path from the
/// root to there. Nodes share a text until they write different lines; each version then gets its
/// own text.
/// Memory:  the bytes of each distinct output, once, and kTextCost for each text.
class OutputTree {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  /// Approximate memory of one text besides its bytes.
  static constexpr std::size_t kTextCost = 128;

  /// Outputs are cut when the tree, its own overhead included, would exceed `most_bytes`.
  explicit OutputTree(int nodes, std::size_t most_bytes = kMostBytes);

  /// Adds the next bytes of one stream (1 or 2) of a node. Lines of the 2 streams are kept in the
  /// order in which they were finished. A line with '\r' inside is kept as a terminal would finally
  /// show it.
  void add(int node, int stream, std::string_view text);
  /// Ends the output: unfinished lines become lines.
  void finish();

  /// Returns the nodes that have written anything, and silent nodes that `silent` (by node; may be
  /// empty) marks. Order: most nodes first, then by the first node.
  [[nodiscard]] std::vector<OutputGroup> groups(const std::vector<bool>& silent = {}) const;
  /// Returns the memory of the tree without unfinished lines.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = texts_.size() * kTextCost;
    for (const Text& text : texts_) bytes += text.bytes.capacity();
    return bytes;
  }

 private:
  struct Place {
    std::uint32_t text = 0;
    std::size_t offset = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Text {
    Place parent{};  // where it branches off; none for the first text
    std::string bytes{};
  };
  struct NodeOutput {
    Place place{};
    std::string open[2];  // unfinished line, by stream
    bool cut = false;
  };

  bool take_room(std::size_t bytes);
  void add_line(NodeOutput& output, std::string_view line);
  [[nodiscard]] bool has_line_at(const Place& place, std::string_view line) const {
    const std::string_view rest = std::string_view(texts_[place.text].bytes).substr(place.offset);
    return rest.size() > line.size() && rest[line.size()] == '\n' && rest.starts_with(line);
  }
  [[nodiscard]] std::vector<std::string_view> parts_to(Place place) const;

  std::vector<NodeOutput> outputs_;
  std::deque<Text> texts_;
  std::unordered_multimap<std::size_t, std::uint32_t> branches_;  // hash of place and line -> text
  std::size_t room_;
};

}  // namespace ds::launcher::exec
