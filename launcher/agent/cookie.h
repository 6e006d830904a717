// The mark that everything a job starts carries in its environment. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

inline constexpr const char* kCookieVariable = "DSLAUNCH_COOKIE";

/// Which agent started a process: JOB.PID.START, the agent's pid and start time as proc(5) has
/// them.
struct Cookie {
  std::string job{};
  pid_t agent = 0;
  std::uint64_t start = 0;

  [[nodiscard]] std::string text() const;
  /// Empty if `text` is no cookie.
  static std::optional<Cookie> parse(std::string_view text);
  friend bool operator==(const Cookie&, const Cookie&) = default;
};

/// The cookie in the text of /proc/PID/environ.
std::optional<Cookie> cookie_in_environment(std::string_view environ_text);

}  // namespace ds::launcher
