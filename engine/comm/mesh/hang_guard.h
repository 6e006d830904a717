// HangGuard: ends waits for ranks that will never arrive. Every rank reports what it does to rank
// 0's coordinator, which answers with what it finds in the reports of all: one request a second
// and rank, four while it waits.
//
// A rank that computes for long is waited for as long as any rank makes progress. Ranks that issue
// different operations are told at once. A rank that is stopped, or that loops in one op forever,
// is named. Time in which this process was suspended does not count.
// Groups whose operations run elsewhere are polled on the same thread.
// docs/decisions/0017-no-hang.md.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/comm/activity.h"
#include "engine/comm/mesh/call_log.h"
#include "engine/comm/mesh/coordinator_client.h"
#include "engine/comm/rank_report.h"

namespace ds::comm {

class HangGuard {
 public:
  struct Setup {
    int rank = 0;
    Clock::duration patience{};
    std::shared_ptr<const Activity> activity{};
    std::shared_ptr<CoordinatorClient> coordinator{};
  };
  explicit HangGuard(Setup setup);
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;

  /// Adds a group of this process.
  void add(CallLog* log);
  /// Removes the group; its log is not touched afterwards.
  void remove(CallLog* log);

  /// Names a rank that has already been silent for long, for messages; empty when there is none.
  [[nodiscard]] std::string suspicion() const;

 private:
  void run();
  /// Returns whether operations are under way that must be polled soon.
  bool look();
  [[nodiscard]] RankReport own_report(Clock::time_point now);
  [[nodiscard]] bool is_due(const RankReport& own, Clock::time_point now) const;
  void report(const RankReport& own);
  void give_up(const std::string& group, const Call& call, const std::string& reason);
  /// Returns the time; a long gap means that this process was suspended.
  Clock::time_point stamp();

  const Setup setup_;
  mutable std::mutex mutex_;  // guards the next four
  std::condition_variable changed_;
  bool stop_ = false;
  std::vector<CallLog*> logs_;
  std::string suspicion_;
  // Used by the thread only:
  Clock::time_point last_stamp_, suspended_until_, reported_at_{};
  Clock::duration suspended_for_{};  // what the groups have not been told
  Clock::time_point answered_at_;    // when rank 0 last answered
  std::string place_of_rank_0_;
  std::thread thread_;
};

}  // namespace ds::comm
