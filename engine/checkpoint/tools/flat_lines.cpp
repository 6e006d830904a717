// Searches lines linearly: both texts are short (the config has one line per key).
#include "engine/checkpoint/tools/flat_lines.h"

#include <algorithm>

namespace ds {

std::vector<NamedLine> flat_lines(std::string_view text) {
  std::vector<NamedLine> lines;
  std::string section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[') && line.ends_with(']')) {
      section = std::string(line.substr(1, line.size() - 2)) + ".";
      continue;
    }
    const std::size_t equal = line.find(" = ");
    if (equal == std::string_view::npos) continue;
    lines.emplace_back(section + std::string(line.substr(0, equal)), line.substr(equal + 3));
  }
  return lines;
}

std::string value_of(const std::vector<NamedLine>& lines, std::string_view name) {
  const auto found = std::ranges::find(lines, name, &NamedLine::first);
  return found == lines.end() ? std::string() : found->second;
}

std::vector<LineDifference> different_lines(const std::vector<NamedLine>& a,
                                            const std::vector<NamedLine>& b) {
  std::vector<LineDifference> differences;
  for (const auto& [name, value] : a) {
    const std::string other = value_of(b, name);
    if (other != value) differences.push_back({name, value, other});
  }
  for (const auto& [name, value] : b) {
    const bool is_known = std::ranges::find(a, name, &NamedLine::first) != a.end();
    if (!is_known) differences.push_back({name, "", value});
  }
  return differences;
}

}  // namespace ds
