// CallLog: the last calls of one group.
#include "engine/comm/mesh/call_log.h"

#include <algorithm>
#include <utility>

#include "engine/comm/mesh/hang_guard.h"

namespace ds::comm {

CallLog::CallLog(std::shared_ptr<HangGuard> guard, std::string group, WatchedCalls calls)
    : guard_(std::move(guard)), group_(std::move(group)), functions_(std::move(calls)) {
  if (guard_) guard_->add(this);
}

CallLog::~CallLog() {
  if (guard_) guard_->remove(this);
}

void CallLog::begin(std::uint64_t number, std::string_view operation, std::string_view about,
                    std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  Call& call = calls_[count_ % kKept];
  ++count_;
  call.number = number;
  call.operation.assign(operation);
  call.about.assign(about);
  call.bytes = bytes;
  waiting_ = true;
  since_ = Clock::now();
}

void CallLog::end() {
  const std::lock_guard lock(mutex_);
  waiting_ = false;
}

void CallLog::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  failed_ = why;
}

RankReport::InGroup CallLog::look(Clock::time_point now, Clock::time_point not_before) const {
  const std::lock_guard lock(mutex_);
  RankReport::InGroup in{.group = group_, .waiting = waiting_, .failed = failed_};
  if (waiting_) in.waited = std::max(now - std::max(since_, not_before), Clock::duration());
  for (std::uint64_t n = count_ - std::min<std::uint64_t>(count_, kKept); n < count_; ++n)
    in.calls.push_back(calls_[n % kKept]);
  return in;
}

std::uint64_t CallLog::progress() const {
  const std::lock_guard lock(mutex_);
  return count_ + traffic_.load(std::memory_order_relaxed);
}

void CallLog::give_up(const Call& call, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_ || calls_[(count_ - 1) % kKept] != call) return;
  }
  functions_.give_up(reason);
}

}  // namespace ds::comm
