// HangGuard: ends waits for ranks that will never arrive. Every rank publishes what it does in rank
// 0's store. While a rank waits long, rank 0 reads all reports and publishes what it finds, and the
// ranks that wait read that: at most five requests a second and rank.
//
// A rank that computes for long is waited for as long as any rank makes progress. Ranks that issue
// different operations are told at once. A rank that is stopped, or that loops in one op forever,
// is named. Time in which this process was suspended does not count.
// docs/decisions/0017-no-hang.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
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
    std::string group{};
    Call call{};
    Clock::time_point since{};
    CallLog* log = nullptr;
  };
  void run();
  void look();
  void publish(const RankReport& own, bool waits_long);
  void oversee(const RankReport& own, const std::vector<Wait>& waits);
  void read_findings(const std::vector<Wait>& waits);
  void heed(const Findings& findings, const std::vector<Wait>& waits);
  [[nodiscard]] std::vector<Wait> waits();
  [[nodiscard]] RankReport own_report();
  [[nodiscard]] std::vector<int> members_of(const std::string& group);
  void observe(int rank, const std::string& text);
  void give_up(const Wait& wait, const std::string& reason);
  /// Records the time; a long gap means that this process was suspended.
  Clock::time_point stamp();
  [[nodiscard]] StoreClient& store();

  const Setup setup_;
  const Clock::duration look_every_, wait_before_reading_, beat_every_, answer_within_;
  const Clock::duration suspended_;  // a busy machine delays a thread by less
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::vector<Member> members_;
  std::string suspicion_;
  // Used by the thread only:
  std::unique_ptr<StoreClient> store_;
  Clock::time_point last_stamp_, suspended_until_, next_beat_, next_read_;
  Clock::time_point answered_at_;  // when the store last answered
  std::string place_of_rank_0_;
  std::uint64_t beat_ = 0;
  std::string published_;  // the calls of the last report
  // Used by rank 0 only:
  std::vector<Observed> observed_;  // by rank
  std::map<std::string, std::vector<int>> members_of_groups_;
  std::int64_t waits_seen_ = 0;  // what the ranks that wait have counted
  std::string findings_;         // published last
  std::thread thread_;
};

}  // namespace ds::comm
