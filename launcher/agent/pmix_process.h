// PmixProcess: the PMIx server of an agent, a process that runs libdslaunch_pmix.so.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// A process of its own, because the library has threads, and an agent forks shims. The end of the
/// server is an event, so no bytes of a rank can end the agent.
/// Threads: one.
class PmixProcess {
 public:
  /// From start() to PmixReady. A server takes 0.1 s.
  static constexpr std::chrono::seconds kStartLimit{30};
  /// From finish() to KILL.
  static constexpr std::chrono::seconds kFinishLimit{2};

  /// Forks the server, which keeps its files in `folder`.
  /// Errors:  Error{system} if the system refuses.
  void start(const Spec& spec, const std::string& folder, Clock::time_point now);
  /// Lets the server clean up and end, which is not a problem then. It is killed after
  /// kFinishLimit.
  void finish(Clock::time_point now);
  [[nodiscard]] bool is_running() const { return pid_ != 0; }
  /// Returns whether the ranks cannot do without: PMIx or its library was asked for.
  [[nodiscard]] bool is_wanted() const { return is_wanted_; }

  void add_polls(std::vector<pollfd>& polled);
  void turn(const std::vector<pollfd>& polled, Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at() const { return std::min(due_, report_at_); }
  /// Passes a frame of the root.
  void send(const Message& message);
  /// The process `pid` was reaped; returns whether it is the server.
  bool reaped(pid_t pid, int wait_status);
  /// The process of a rank has ended with status 0.
  void ended_well(std::int32_t rank, Clock::time_point now);

  /// Returns the variables of each rank, in the order of Spec::ranks, once ranks may start.
  std::optional<std::vector<PmixReady::Rank>> take_ready() {
    return std::exchange(ready_, std::nullopt);
  }
  /// Return frames for the root; lines for the user; why the ranks cannot go on.
  std::vector<Message> take_messages() { return std::exchange(messages_, {}); }
  std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }
  std::optional<std::string> take_problem() { return std::exchange(problem_, std::nullopt); }

 private:
  void read_and_write(const std::vector<pollfd>& polled);
  void read_some();
  void write_some();
  void take(Message&& message);
  void look_at_deadlines(Clock::time_point now);
  void report_missing(Clock::time_point now);
  void fail(std::string problem) {
    if (!finishing_ && !problem_) problem_ = std::move(problem);
  }

  pid_t pid_ = 0;
  UniqueFd fd_;
  Decoder decoder_;
  SendQueue unsent_;
  std::size_t poll_index_ = 0;
  bool polled_ = false;
  bool is_ready_ = false;
  bool finishing_ = false;
  std::vector<std::int32_t> told_missing_;            // by the last FenceWaits
  bool alone_ = false;                                // the job has one rank
  bool is_wanted_ = true;
  bool tells_init_ = false;                           // ranks may also use PMI
  Clock::time_point due_ = Clock::time_point::max();  // of the start or the end
  Clock::time_point report_at_ = Clock::time_point::max();
  std::map<std::int32_t, std::optional<PmixRank::Step>> ranks_;
  std::optional<std::vector<PmixReady::Rank>> ready_;
  std::vector<Message> messages_;
  std::vector<std::string> lines_;
  std::optional<std::string> problem_;
};

}  // namespace ds::launcher
