// The one exception type for what ends a job, and the one assertion, which is on in every build.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ds {

/// What kind of trouble ended the job. Only `main` maps it to a process exit code
/// (runner/contract.h).
enum class ErrorKind {
  usage,        // the command line
  config,       // hostfile, train.toml, data files
  unreachable,  // a node cannot be reached, or was lost
  deadline,     // a wait ran out of time
  comm,         // a peer is gone; the group is unusable afterwards
  system,       // the operating system refused something
  bug           // an assertion failed
};

/// Ends the job. `what()` is the message: what, where and why; `hint` says what to do next (may be
/// empty).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  /// The same error with `context + ": "` in front of the message.
  [[nodiscard]] Error with_context(std::string_view context) const {
    return {kind_, fmt::format("{}: {}", context, what()), hint_};
  }

  /// Message and hint as printed for people: "MESSAGE\n  hint: HINT".
  [[nodiscard]] std::string for_people() const;

 private:
  ErrorKind kind_;
  std::string hint_;
};

/// What a library threw, as one of ours: what the system refused, an empty memory, a file that
/// cannot be used; anything else is a bug.
Error as_error(const std::exception& caught);

/// Throws ErrorKind::system with `what` and the text of `error_number`.
[[noreturn]] void throw_errno(std::string_view what, int error_number, std::string hint = {});

/// Prints the broken condition and its place, then aborts. Never reachable from user input.
[[noreturn]] void assertion_failed(const char* condition, const char* note, const char* file,
                                   int line);

}  // namespace ds

/// A bug if false. Two forms: DS_ASSERT(x) and DS_ASSERT(x, "why it holds").
#define DS_ASSERT(condition, ...)                                             \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::ds::assertion_failed(#condition, "" __VA_ARGS__, __FILE__, __LINE__); \
  } while (false)
