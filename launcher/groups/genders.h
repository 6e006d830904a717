// The genders database: attributes of nodes, and queries about them. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Lines `node[1-8],login  attribute,name=value`, as genders(3) describes them. `%n` in a value is
/// the node's name, `%%` a percent sign. A node may have several lines.
class Genders {
 public:
  struct Node {
    std::string name{};
    std::map<std::string, std::string> attributes{};  // the value is empty without '='
  };

  Genders() = default;
  /// Errors:  Error{config} with file, line and a caret.
  Genders(std::string_view text, std::string_view file);

  /// In the order of the file.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const Node* find(std::string_view name) const;
  /// Returns the first node whose attribute has this value; null if there is none.
  [[nodiscard]] const Node* find_by(const std::string& attribute, std::string_view value) const;
  /// Returns every attribute that a node has, once.
  [[nodiscard]] std::vector<std::string> attributes() const;

  /// Returns the nodes that a query matches, in the order of the file. An empty query matches all.
  /// A query joins `attribute` and `name=value` by `||` (union), `&&` (intersection) and `--`
  /// (difference), from left to right; `~` is the complement, parentheses group.
  /// Errors:  Error{usage} for a malformed query.
  [[nodiscard]] std::vector<std::string> query(std::string_view query) const;

 private:
  std::vector<Node> nodes_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace ds::launcher
