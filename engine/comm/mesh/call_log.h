// CallLog: the last calls of one group in this process and the current one. The thread that uses
// the group writes it; the hang guard's thread reads it.
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
  /// `give_up` is called with a reason on the hang guard's thread.
  explicit CallLog(std::function<void(const std::string&)> give_up)
      : give_up_(std::move(give_up)) {}

  /// Starts a call. Allocates nothing once names of that length were seen.
  void begin(std::uint64_t number, std::string_view operation, std::string_view about,
             std::uint64_t bytes);
  void end();
  /// Marks the group as given up.
  void fail(const std::string& why);

  [[nodiscard]] RankReport::InGroup look(const std::string& group) const;
  /// Returns the current call and when it began; nothing when no call is under way.
  [[nodiscard]] std::optional<std::pair<Call, Clock::time_point>> waiting() const;
  [[nodiscard]] std::uint64_t count() const;
  /// Calls `give_up` if this call is still under way.
  void give_up(const Call& call, const std::string& reason);

 private:
  static constexpr std::size_t kKept = 4;
  [[nodiscard]] const Call& last() const { return calls_[(count_ - 1) % kKept]; }

  const std::function<void(const std::string&)> give_up_;
  mutable std::mutex mutex_;
  std::array<Call, kKept> calls_;  // call n at index n % kKept
  std::uint64_t count_ = 0;
  bool waiting_ = false;
  std::string failed_;
  Clock::time_point since_{};
};

}  // namespace ds::comm
