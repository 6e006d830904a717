// Decodes wait statuses and converts between signal names and numbers.
#include "engine/base/exit_status.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cctype>
#include <charconv>
#include <csignal>
#include <cstring>

namespace ds {

ExitStatus ExitStatus::from_wait_status(int status) {
  if (WIFEXITED(status)) return exited(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) return signaled(WTERMSIG(status), WCOREDUMP(status));
  return lost();
}

std::optional<int> ExitStatus::code() const {
  return kind_ == Kind::exited ? std::optional(value_) : std::nullopt;
}

std::optional<int> ExitStatus::signal() const {
  return kind_ == Kind::signaled ? std::optional(value_) : std::nullopt;
}

int ExitStatus::shell_code() const {
  switch (kind_) {
    case Kind::exited:
      return value_;
    case Kind::signaled:
      return 128 + value_;
    case Kind::lost:
      return 69;
  }
  return 69;
}

std::string ExitStatus::describe() const {
  switch (kind_) {
    case Kind::exited:
      return fmt::format("exited {}", value_);
    case Kind::signaled:
      return fmt::format("killed by {}{}", signal_name(value_), core_ ? " (core dumped)" : "");
    case Kind::lost:
      return "lost";
  }
  return "lost";
}

std::string signal_name(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation != nullptr ? fmt::format("SIG{}", abbreviation)
                                 : fmt::format("signal {}", signal);
}

std::optional<int> signal_number(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end)
    return number >= 1 && number < NSIG ? std::optional(number) : std::nullopt;
  std::string name(text);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signo = 1; signo < NSIG; ++signo) {
    const char* abbreviation = sigabbrev_np(signo);
    if (abbreviation != nullptr && name == abbreviation) return signo;
  }
  return std::nullopt;
}

}  // namespace ds
