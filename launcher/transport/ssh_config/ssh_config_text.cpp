// Values of ssh_config: host patterns (also of known_hosts), lists of algorithms, tokens,
// variables, numbers and times.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "engine/base/split.h"
#include "launcher/transport/ssh_config/ssh_config_parts.h"

namespace ds::launcher {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

const std::string& token_value(char token, const TextPlace& place, const SshTokens& tokens) {
  static const std::string percent = "%";
  if (token == '%') return percent;
  const auto found = tokens.find(token);
  if (found == tokens.end())
    config_error(place, fmt::format("token %{} is not known here", token), "%% is a percent sign");
  return found->second;
}

/// Whether a shell could read more than one plain word, or a program an option.
bool is_plain_word(const std::string& value) {
  return !value.starts_with('-') && value.find_first_of(" \t\n'\"`$\\;&<>|(){}*?!#") == value.npos;
}

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

bool is_plain_text(std::string_view text) { return text.find_first_of("%$") == text.npos; }

std::string expand_ssh_text(const std::string& text, const TextPlace& place,
                            const SshTokens& tokens, const LocalUser& local) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      out += token_value(i + 1 < text.size() ? text[++i] : ' ', place, tokens);
    } else if (text.compare(i, 2, "${") == 0 && text.find('}', i) != std::string::npos) {
      const std::size_t end = text.find('}', i);
      const std::string name = text.substr(i + 2, end - i - 2);
      const auto value = local.environment ? local.environment(name) : std::nullopt;
      if (!value) config_error(place, "environment variable " + name + " is not set");
      out += *value;
      i = end;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string expand_ssh_command(const std::string& command, const TextPlace& place,
                               const SshTokens& tokens) {
  std::string out;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] != '%') {
      out += command[i];
      continue;
    }
    const char token = i + 1 < command.size() ? command[++i] : ' ';
    const std::string& value = token_value(token, place, tokens);
    if (!is_plain_word(value))
      config_error(
          place, fmt::format("the value of %{} here, '{}', is not safe in a shell's command", token,
                             value));
    out += value;
  }
  return out;
}

std::optional<long> ssh_number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<long> ssh_seconds(std::string_view text) {
  constexpr long kMost = 365L * 24 * 3600;
  long total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > kMost) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const char unit = text.empty() ? 's' : static_cast<char>(std::tolower(text.front()));
    const std::size_t known = std::string_view("smhdw").find(unit);
    if (known == std::string_view::npos) return std::nullopt;
    constexpr long kScale[] = {1, 60, 3600, 24 * 3600, 7 * 24 * 3600};
    total += value * kScale[known];
    if (total > kMost) return std::nullopt;
    if (!text.empty()) text.remove_prefix(1);
  }
  return total;
}

}  // namespace ds::launcher
