// CallLog: the last calls of one group in this process and the current one. The thread that uses
// the group writes it; the hang guard's thread reads it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/comm/collectives.h"
#include "engine/comm/rank_report.h"

namespace ds::comm {

class HangGuard;

class CallLog final : public CallWatch {
 public:
  /// `group`: unique in the job, as in RankReport. The guard, which may be null, reads the log and
  /// calls the functions of `calls` from here on; poll may be empty.
  CallLog(std::shared_ptr<HangGuard> guard, std::string group, WatchedCalls calls);
  ~CallLog() override;
  CallLog(const CallLog&) = delete;

  /// Starts a call. Allocates nothing once names of that length were seen.
  void begin(std::uint64_t number, std::string_view operation, std::string_view about,
             std::uint64_t bytes) override;
  void end() override;
  void fail(const std::string& why) override;
  /// Counts a turn of bytes, which is progress.
  void count_traffic() { traffic_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] const std::string& group() const { return group_; }
  /// Returns the calls; the time waited begins at `not_before` or later.
  [[nodiscard]] RankReport::InGroup look(Clock::time_point now, Clock::time_point not_before) const;
  /// Returns a number that changes with every call and turn.
  [[nodiscard]] std::uint64_t progress() const;
  /// Returns true while operations are under way that must be polled.
  bool poll(Clock::time_point now, Clock::duration gap) const {
    return functions_.poll && functions_.poll(now, gap);
  }
  /// Gives up if this call is still under way.
  void give_up(const Call& call, const std::string& reason);

 private:
  static constexpr std::size_t kKept = 4;

  const std::shared_ptr<HangGuard> guard_;
  const std::string group_;
  const WatchedCalls functions_;
  std::atomic<std::uint64_t> traffic_ = 0;
  mutable std::mutex mutex_;       // guards all below
  std::array<Call, kKept> calls_;  // call n at index n % kKept
  std::uint64_t count_ = 0;
  bool waiting_ = false;
  std::string failed_;
  Clock::time_point since_{};
};

}  // namespace ds::comm
