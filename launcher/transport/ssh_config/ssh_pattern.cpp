// Host patterns of ssh_config and known_hosts (wildcards, lists, negation), and changes to lists of
// algorithms.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "engine/base/split.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

namespace {
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
}  // namespace

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

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
  for (const std::string_view pattern : split(list, ','))
    if (!pattern.empty()) patterns.emplace_back(pattern);
  return patterns;
}

std::string change_algorithms(std::string_view known, std::string_view wanted) {
  if (wanted.empty()) return std::string(known);
  const char how = wanted.front();
  if (how != '+' && how != '-' && how != '^') return std::string(wanted);
  const std::vector<std::string> base = split_patterns(known);
  const std::vector<std::string> change = split_patterns(wanted.substr(1));
  std::vector<std::string> names;
  const auto add = [&](const std::vector<std::string>& more) {
    for (const std::string& name : more) {
      const bool removed = how == '-' && ssh_pattern_list_matches(change, name);
      if (!removed && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  if (how == '^') add(change);
  add(base);
  if (how == '+') add(change);
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace ds::launcher
