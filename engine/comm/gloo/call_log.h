// The last calls of one group in this process, and the one under way: written by the thread that
// uses the group, read by the guard's.
#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/comm/rank_report.h"

namespace ds::comm {

class CallLog {
 public:
  /// `give_up` is called on the guard's thread, with a reason.
  explicit CallLog(std::function<void(const std::string&)> give_up)
      : give_up_(std::move(give_up)) {}

  /// Allocates nothing once names of that length were seen.
  void begin(std::uint64_t number, std::string_view operation, std::string_view about,
             std::uint64_t bytes);
  void end();
  /// The group is given up.
  void fail(const std::string& why);

  [[nodiscard]] RankReport::InGroup look(const std::string& group) const;
  /// Nothing: no call is under way.
  [[nodiscard]] std::optional<std::pair<Call, Clock::time_point>> waiting() const;
  [[nodiscard]] std::uint64_t count() const;
  /// If this call is still under way.
  void give_up(const Call& call, const std::string& reason);

 private:
  static constexpr std::size_t kKept = 4;
  [[nodiscard]] const Call& last() const { return calls_[(count_ - 1) % kKept]; }

  const std::function<void(const std::string&)> give_up_;
  mutable std::mutex mutex_;
  std::array<Call, kKept> calls_;  // call n in place n % kKept
  std::uint64_t count_ = 0;
  bool waiting_ = false;
  std::string failed_;
  Clock::time_point since_{};
};

}  // namespace ds::comm
