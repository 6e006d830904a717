#include "launcher/groups/genders.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kGendersBlanks = " \t\r";
constexpr int kMostNesting = 64;

std::string filled_value(std::string_view value, std::string_view node) {
  std::string text;
  for (std::size_t at = 0; at < value.size(); ++at) {
    const char next = value[at] == '%' && at + 1 < value.size() ? value[at + 1] : '\0';
    if (next == 'n') text += node;
    if (next == '%') text += '%';
    if (next == 'n' || next == '%')
      ++at;
    else
      text += value[at];
  }
  return text;
}

/// Evaluates a query over one bit per node.
class Query {
 public:
  using Bits = std::vector<bool>;
  Query(const std::vector<Genders::Node>& nodes, std::string_view text)
      : nodes_(nodes), text_(text), rest_(text) {}

  Bits all() {
    Bits bits = expression(0);
    if (!skip_blanks().empty())
      fail(fmt::format("{} is not expected", quoted(printable_text(rest_))));
    return bits;
  }

 private:
  Bits expression(int depth) {
    if (depth > kMostNesting) fail("it has too many parentheses");
    Bits left = term(depth);
    for (;;) {
      const std::string_view next = skip_blanks().substr(0, 2);
      if (next != "||" && next != "&&" && next != "--") return left;
      rest_.remove_prefix(2);
      const Bits right = term(depth);
      for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = next == "||"   ? left[i] || right[i]
                  : next == "&&" ? left[i] && right[i]
                                 : left[i] && !right[i];
    }
  }
  Bits term(int depth) {
    bool inverted = false;
    while (skip_blanks().starts_with('~')) {
      rest_.remove_prefix(1);
      inverted = !inverted;
    }
    Bits bits = rest_.starts_with('(') ? group(depth) : having(attribute());
    if (inverted) bits.flip();
    return bits;
  }
  Bits group(int depth) {
    rest_.remove_prefix(1);
    Bits bits = expression(depth + 1);
    if (!skip_blanks().starts_with(')')) fail("a ')' is missing");
    rest_.remove_prefix(1);
    return bits;
  }
  std::string_view attribute() {
    std::size_t end = 0;
    while (end < rest_.size()) {
      const std::string_view here = rest_.substr(end);
      if (here.starts_with("||") || here.starts_with("&&") || here.starts_with("--")) break;
      if (kGendersBlanks.find(here[0]) != std::string_view::npos) break;
      if (here[0] == '(' || here[0] == ')' || here[0] == '~') break;
      ++end;
    }
    if (end == 0) fail("an attribute is missing");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  [[nodiscard]] Bits having(std::string_view word) const {
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    Bits bits;
    for (const Genders::Node& node : nodes_) {
      const auto known = node.attributes.find(name);
      bits.push_back(known != node.attributes.end() && (equals == std::string_view::npos ||
                                                        known->second == word.substr(equals + 1)));
    }
    return bits;
  }
  std::string_view skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kGendersBlanks), rest_.size()));
    return rest_;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::usage,
                fmt::format("genders query {}: {}", quoted(printable_text(text_)), why),
                "for example: 'compute&&rack=2', 'gpu||login', '~(old||spare)'");
  }

  const std::vector<Genders::Node>& nodes_;
  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

Genders::Genders(std::string_view text, std::string_view file) {
  for (int number = 1; !text.empty(); ++number) {
    const SourceLine line{file, number, take_line(text)};
    std::string_view rest = line.text.substr(0, line.text.find('#'));
    const std::size_t begin = rest.find_first_not_of(kGendersBlanks);
    if (begin == std::string_view::npos) continue;
    const std::size_t gap = std::min(rest.find_first_of(kGendersBlanks, begin), rest.size());
    const std::string_view attributes = rest.substr(gap);
    for (const Word& word : split_outside_brackets(rest.substr(begin, gap - begin), ",")) {
      const auto names = expand_host_ranges(word.text);
      if (const auto* problem = std::get_if<RangeProblem>(&names))
        throw text_error(line, begin + word.offset + problem->offset, problem->message,
                         problem->hint);
      for (const std::string& name : std::get<std::vector<std::string>>(names)) {
        if (name.empty()) throw text_error(line, begin + word.offset, "a node name is missing", "");
        const auto [known, is_new] = index_.try_emplace(name, nodes_.size());
        if (is_new) {
          if (nodes_.size() == kMaxHosts)
            throw text_error(line, begin, fmt::format("more than {} nodes", kMaxHosts), "");
          nodes_.push_back({.name = name});
        }
        Node& node = nodes_[known->second];
        for (std::string_view left = attributes; !left.empty();) {
          left.remove_prefix(std::min(left.find_first_not_of(" \t\r,"), left.size()));
          const std::string_view item =
              left.substr(0, std::min(left.find_first_of(" \t\r,"), left.size()));
          left.remove_prefix(item.size());
          if (item.empty()) break;
          const std::size_t equals = item.find('=');
          const std::string_view value =
              equals == std::string_view::npos ? "" : item.substr(equals + 1);
          node.attributes[std::string(item.substr(0, equals))] = filled_value(value, name);
        }
      }
    }
  }
}

const Genders::Node* Genders::find(std::string_view name) const {
  const auto known = index_.find(name);
  return known == index_.end() ? nullptr : &nodes_[known->second];
}

const Genders::Node* Genders::find_by(const std::string& attribute, std::string_view value) const {
  for (const Node& node : nodes_) {
    const auto known = node.attributes.find(attribute);
    if (known != node.attributes.end() && known->second == value) return &node;
  }
  return nullptr;
}

std::vector<std::string> Genders::attributes() const {
  std::set<std::string> names;
  for (const Node& node : nodes_)
    for (const auto& [name, value] : node.attributes) names.insert(name);
  return {names.begin(), names.end()};
}

std::vector<std::string> Genders::query(std::string_view query) const {
  const bool any = query.find_first_not_of(kGendersBlanks) == std::string_view::npos;
  const Query::Bits bits = any ? Query::Bits(nodes_.size(), true) : Query(nodes_, query).all();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (bits[i]) names.push_back(nodes_[i].name);
  return names;
}

}  // namespace ds::launcher
