// Expands tokens and variables, and parses numbers and times in values of ssh_config.
#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "launcher/transport/ssh_config/ssh_config_parts.h"

namespace ds::launcher {

namespace {

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
