#include "launcher/agent/cookie.h"

#include <fmt/format.h>

#include <charconv>

namespace ds::launcher {
namespace {

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number <= 0) return std::nullopt;
  return number;
}

}  // namespace

std::string Cookie::text() const { return fmt::format("{}.{}.{}", job, agent, start); }

std::optional<Cookie> Cookie::parse(std::string_view text) {
  const std::size_t second = text.rfind('.');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = text.rfind('.', second - 1);
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  const auto agent = whole_number<pid_t>(text.substr(first + 1, second - first - 1));
  const auto start = whole_number<std::uint64_t>(text.substr(second + 1));
  if (!agent || !start) return std::nullopt;
  return Cookie{std::string(text.substr(0, first)), *agent, *start};
}

std::optional<Cookie> cookie_in_environment(std::string_view environ_text) {
  const std::string name = std::string(kCookieVariable) + "=";
  while (!environ_text.empty()) {
    const std::size_t end = std::min(environ_text.find('\0'), environ_text.size());
    const std::string_view entry = environ_text.substr(0, end);
    if (entry.starts_with(name)) return Cookie::parse(entry.substr(name.size()));
    environ_text.remove_prefix(std::min(end + 1, environ_text.size()));
  }
  return std::nullopt;
}

}  // namespace ds::launcher
