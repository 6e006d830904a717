// ExitStatus: how a process ended. Wait statuses are decoded here and nowhere else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ds {

/// Exited with a code, killed by a signal, or lost (how the process ended could not be learned).
class ExitStatus {
 public:
  static ExitStatus exited(int code) { return {Kind::exited, code, false}; }
  static ExitStatus signaled(int signal, bool core) { return {Kind::signaled, signal, core}; }
  static ExitStatus lost() { return {Kind::lost, 0, false}; }
  /// Decodes the status of waitpid(2).
  static ExitStatus from_wait_status(int status);

  [[nodiscard]] bool success() const { return kind_ == Kind::exited && value_ == 0; }
  [[nodiscard]] bool is_lost() const { return kind_ == Kind::lost; }
  [[nodiscard]] std::optional<int> code() const;
  [[nodiscard]] std::optional<int> signal() const;
  [[nodiscard]] bool dumped_core() const { return core_; }

  /// Returns what a shell would report: the code, 128 + signal, or 69 for lost.
  [[nodiscard]] int shell_code() const;
  /// Returns text for messages: "exited 7", "killed by SIGSEGV (core dumped)", "lost".
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;

 private:
  enum class Kind { exited, signaled, lost };
  ExitStatus(Kind kind, int value, bool core) : kind_(kind), value_(value), core_(core) {}
  Kind kind_;
  int value_;
  bool core_;
};

/// Returns the signal's name: "SIGTERM" for 15; "signal 99" for numbers without a name.
std::string signal_name(int signal);
/// Parses a signal's name or number: "USR1", "sigusr1" and "10" give 10; anything else gives
/// nothing.
std::optional<int> signal_number(std::string_view text);

}  // namespace ds
