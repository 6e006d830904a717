// HangGuard: ends waits for ranks that will never arrive. Every rank publishes what it does in rank
// 0's store, and a rank that waits long reads the reports of the others.
//
// A rank that computes for long is waited for as long as any rank makes progress. Ranks that issue
// different operations are told at once. A rank that is stopped, or that loops in one op forever,
// is named. Time in which this process was suspended does not count.
// docs/decisions/0017-no-hang.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/comm/activity.h"
#include "engine/comm/mesh/call_log.h"
#include "engine/comm/mesh/store_client.h"
#include "engine/comm/mesh/visit.h"
#include "engine/comm/rank_report.h"

namespace ds::comm {

class HangGuard {
 public:
  struct Setup {
    int rank = 0;
    int world_size = 1;
    Clock::duration patience{};
    Invitation store{};  // a connection of its own, because other connections may block
    std::shared_ptr<const Activity> activity{};
  };
  explicit HangGuard(Setup setup);
  ~HangGuard();
  HangGuard(const HangGuard&) = delete;

  /// A group of this process. The objects that it refers to must outlive it.
  struct Member {
    std::string group{};  // the group's name, then "/" and what makes it unique in the job
    const std::vector<int>* ranks = nullptr;
    CallLog* log = nullptr;
    const std::atomic<std::uint64_t>* traffic = nullptr;  // counts up when bytes pass
  };
  void add(const Member& member);
  /// Removes the group; its log is not touched afterwards.
  void remove(const CallLog* log);

  /// Names a rank that has already been silent for long, for messages; empty when there is none.
  [[nodiscard]] std::string suspicion() const;

 private:
  struct Wait {
    Waiting what{};
    CallLog* log = nullptr;
  };
  void run();
  void look();
  void talk(const RankReport& own, bool waits_long);
  [[nodiscard]] std::vector<Wait> waits();
  [[nodiscard]] RankReport own_report();
  void publish(const RankReport& report);
  void read_others();
  void observe(int rank, const std::string& text);
  void give_up(const Wait& wait, const std::string& reason);
  /// Records the time; a long gap means that this process was suspended.
  Clock::time_point stamp();
  [[nodiscard]] StoreClient& store();

  const Setup setup_;
  const Clock::duration look_every_, wait_before_reading_, beat_every_, read_every_, answer_within_;
  const Clock::duration suspended_;  // a busy machine delays a thread by less
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::vector<Member> members_;
  std::string suspicion_;
  // Used by the thread only:
  std::unique_ptr<StoreClient> store_;
  std::vector<Observed> observed_;  // by rank
  Clock::time_point last_stamp_, suspended_until_, next_beat_, next_read_;
  std::uint64_t beat_ = 0;
  std::string published_;  // the calls of the last report
  std::thread thread_;
};

}  // namespace ds::comm
