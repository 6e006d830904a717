// CallLog: the last calls of one group.
#include "engine/comm/mesh/call_log.h"

#include <algorithm>

namespace ds::comm {

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

RankReport::InGroup CallLog::look(const std::string& group) const {
  const std::lock_guard lock(mutex_);
  RankReport::InGroup in{.group = group, .waiting = waiting_, .failed = failed_, .calls = {}};
  for (std::uint64_t n = count_ - std::min<std::uint64_t>(count_, kKept); n < count_; ++n)
    in.calls.push_back(calls_[n % kKept]);
  return in;
}

std::optional<std::pair<Call, Clock::time_point>> CallLog::waiting() const {
  const std::lock_guard lock(mutex_);
  if (!waiting_) return std::nullopt;
  return std::pair(last(), since_);
}

std::uint64_t CallLog::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void CallLog::give_up(const Call& call, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_ || last().number != call.number || last().operation != call.operation) return;
  }
  give_up_(reason);
}

}  // namespace ds::comm
