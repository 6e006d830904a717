// GuardedCalls: brings the calls of a group that is not a mesh into the hang guard's reports.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/comm/call_watch.h"
#include "engine/comm/mesh/call_log.h"
#include "engine/comm/mesh/hang_guard.h"

namespace ds::comm {

class GuardedCalls final : public CallWatch {
 public:
  /// `group` is HangGuard::Member::group.
  GuardedCalls(std::shared_ptr<HangGuard> guard, const std::string& group,
               std::function<void(const std::string&)> give_up)
      : guard_(std::move(guard)), log_(std::move(give_up)) {
    guard_->add({.group = group, .log = &log_, .traffic = &traffic_});
  }
  ~GuardedCalls() override { guard_->remove(&log_); }
  GuardedCalls(const GuardedCalls&) = delete;

  void begin(std::uint64_t number, std::string_view operation, std::string_view about,
             std::uint64_t bytes) override {
    log_.begin(number, operation, about, bytes);
  }
  void end() override { log_.end(); }
  void fail(const std::string& why) override { log_.fail(why); }

 private:
  const std::shared_ptr<HangGuard> guard_;
  // Constant: progress is counted where the calls are issued
  const std::atomic<std::uint64_t> traffic_ = 0;
  CallLog log_;
};

}  // namespace ds::comm
