// The cookie that every process of a job has in its environment, as text and parsed. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

inline constexpr const char* kCookieVariable = "DSLAUNCH_COOKIE";

/// Names the agent that started a process: JOB.PID.START, with the agent's pid and its start time
/// (field 22 of /proc/PID/stat).
struct Cookie {
  std::string job{};
  pid_t agent = 0;
  std::uint64_t start = 0;

  [[nodiscard]] std::string text() const;
  /// Returns nothing if `text` is not a cookie.
  static std::optional<Cookie> parse(std::string_view text);
  friend bool operator==(const Cookie&, const Cookie&) = default;
};

/// Returns the cookie in the content of /proc/PID/environ.
std::optional<Cookie> cookie_in_environment(std::string_view environ_text);

}  // namespace ds::launcher
