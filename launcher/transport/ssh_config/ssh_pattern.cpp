// Host patterns of ssh_config and known_hosts: wildcards, lists, negation.
#include <cctype>

#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

namespace {
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
}  // namespace

bool ssh_pattern_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // the last `*` seen, to fall back to
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || lower(pattern[p]) == lower(name[n]))) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool ssh_pattern_list_matches(const std::vector<std::string>& patterns, std::string_view name) {
  bool matched = false;
  for (const std::string& pattern : patterns) {
    const bool negated = pattern.starts_with('!');
    if (!ssh_pattern_matches(std::string_view(pattern).substr(negated ? 1 : 0), name)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

std::vector<std::string> split_patterns(std::string_view list) {
  std::vector<std::string> patterns;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) patterns.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return patterns;
}

}  // namespace ds::launcher
