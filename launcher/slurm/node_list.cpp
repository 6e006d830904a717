// Parsers for Slurm's lists; brackets are expanded as in hostfiles.
#include "launcher/slurm/node_list.h"

#include <charconv>
#include <iterator>
#include <utility>

namespace ds::launcher {
namespace {

bool separates(char letter) {
  return letter == ',' || letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

/// Returns the end of the item that begins at `at`.
std::size_t end_of_item(std::string_view list, std::size_t at) {
  bool in_brackets = false;
  for (; at < list.size() && (in_brackets || !separates(list[at])); ++at) {
    if (list[at] == '[') in_brackets = true;
    if (list[at] == ']') in_brackets = false;
  }
  return at;
}

/// Removes a number from the front of `text` and returns it.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::variant<std::vector<std::string>, RangeProblem> expand_node_list(std::string_view list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < list.size();) {
    if (separates(list[at])) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_item(list, at);
    auto item = expand_host_ranges(list.substr(at, end - at));
    if (auto* problem = std::get_if<RangeProblem>(&item)) {
      problem->offset += at;
      return *problem;
    }
    auto& more = std::get<std::vector<std::string>>(item);
    if (names.size() + more.size() > kMaxHosts)
      return RangeProblem{at, "more than 65536 nodes in one list", ""};
    if (names.empty())
      names = std::move(more);
    else
      names.insert(names.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
    at = end;
  }
  return names;
}

std::optional<std::vector<int>> expand_counts(std::string_view list) {
  std::vector<int> counts;
  while (true) {
    const std::optional<int> count = take_number(list);
    if (!count) return std::nullopt;
    int times = 1;
    if (list.starts_with("(x")) {
      list.remove_prefix(2);
      const std::optional<int> given = take_number(list);
      if (!given || *given < 1 || !list.starts_with(')')) return std::nullopt;
      list.remove_prefix(1);
      times = *given;
    }
    if (counts.size() + static_cast<std::size_t>(times) > kMaxHosts) return std::nullopt;
    counts.insert(counts.end(), static_cast<std::size_t>(times), *count);
    if (list.empty()) return counts;
    if (!list.starts_with(',')) return std::nullopt;
    list.remove_prefix(1);
  }
}

}  // namespace ds::launcher
