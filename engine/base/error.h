// Error, the one exception type for what ends a job, and DS_ASSERT, which is on in every build.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ds {

/// Kind of failure that ended the job. Only `main` maps it to a process exit code
/// (engine/base/contract.h).
enum class ErrorKind {
  usage,        // the command line
  config,       // hostfile, train.toml, data files
  unreachable,  // a node cannot be reached, or was lost
  deadline,     // a wait timed out
  comm,         // a peer is lost; its group cannot be used afterwards
  system,       // a system call failed
  bug           // an assertion failed
};

/// Ends the job. `what()` is the message: what, where and why. `hint()` says what to do next and
/// may be empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  /// Returns the same error with `context + ": "` in front of the message.
  [[nodiscard]] Error with_context(std::string_view context) const {
    return {kind_, fmt::format("{}: {}", context, what()), hint_};
  }

  /// Returns message and hint as users see them: "MESSAGE\n  hint: HINT".
  [[nodiscard]] std::string for_people() const;

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// Converts an exception of a library to an Error: failed system calls, exhausted memory and
/// unusable files have their own kind; anything else is a bug.
Error as_error(const std::exception& caught);

/// Throws ErrorKind::system with `what` and the text of `error_number`.
[[noreturn]] void throw_errno(std::string_view what, int error_number, std::string hint = {});

/// Prints the condition that failed and its place, then aborts. User input must never reach this.
[[noreturn]] void assertion_failed(const char* condition, const char* note, const char* file,
                                   int line);

}  // namespace ds

/// Aborts if `condition` is false. Two forms: DS_ASSERT(x) and DS_ASSERT(x, "why it holds").
#define DS_ASSERT(condition, ...)                                             \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::ds::assertion_failed(#condition, "" __VA_ARGS__, __FILE__, __LINE__); \
  } while (false)
