// ProgramCheck: finds out whether the program of a rank could run on this node: looks for it, or runs
// one that only checks.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/agent/shim.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

/// Returns how the start of a program would end, as far as that can be known without running it: the
/// working directory and an executable file exist.
Exited look_for_program(const SpawnSetup& setup);

/// One check at a time; a new one ends the old one. The program dies with this process.
/// Threads: one.   Errors: none; the result says what went wrong.
class ProgramCheck {
 public:
  void start(const Check& check, Clock::time_point now);
  /// Kills the program. There is no result.
  void stop();

  void add_polls(std::vector<pollfd>& polled);
  void turn(const std::vector<pollfd>& polled, Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const { return kill_at_; }
  /// The process `pid` was reaped; returns whether it is the program.
  bool reaped(pid_t pid, int wait_status);
  std::optional<Checked> take_result() { return std::exchange(result_, std::nullopt); }

 private:
  struct Stream {
    UniqueFd fd;
    std::string text;
  };
  static void read_some(Stream& stream);

  pid_t pid_ = 0;
  std::array<Stream, 2> streams_;
  std::size_t first_poll_ = 0;
  bool polled_ = false;
  Clock::time_point kill_at_ = Clock::time_point::max();
  std::chrono::milliseconds limit_{};
  bool late_ = false;
  std::optional<Checked> result_;
};

}  // namespace ds::launcher
