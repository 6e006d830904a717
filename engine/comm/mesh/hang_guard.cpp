// HangGuard: the thread that reports and heeds the findings.
#include "engine/comm/mesh/hang_guard.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/helper_thread.h"
#include "engine/comm/mesh/suspension.h"

namespace ds::comm {

using namespace std::chrono_literals;

HangGuard::HangGuard(Setup setup)
    : setup_(std::move(setup)),
      last_stamp_(Clock::now()),
      suspended_until_(last_stamp_),
      answered_at_(last_stamp_) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

HangGuard::~HangGuard() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void HangGuard::add(CallLog* log) {
  const std::lock_guard lock(mutex_);
  logs_.push_back(log);
}

void HangGuard::remove(CallLog* log) {
  const std::lock_guard lock(mutex_);
  std::erase(logs_, log);
}

std::string HangGuard::suspicion() const {
  const std::lock_guard lock(mutex_);
  return suspicion_;
}

void HangGuard::run() {
  ::pthread_setname_np(::pthread_self(), "ds-guard");
  const auto look_every = std::clamp<Clock::duration>(setup_.patience / 40, 10ms, 250ms);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const bool soon = look();
    lock.lock();
    changed_.wait_for(lock, soon ? std::min<Clock::duration>(look_every, 20ms) : look_every,
                      [this] { return stop_; });
  }
}

bool HangGuard::look() {
  const Clock::time_point now = stamp();
  const Clock::duration gap = std::exchange(suspended_for_, {});
  bool soon = false;
  {
    const std::lock_guard lock(mutex_);
    for (const CallLog* log : logs_) soon = log->poll(now, gap) || soon;
  }
  const RankReport own = own_report(now);
  try {
    if (is_due(own, now)) report(own);
  } catch (const Error&) {
    // Rank 0 does not answer: its silence grows.
  }
  const Clock::duration silence = stamp() - answered_at_;
  for (const RankReport::InGroup& in : own.groups) {
    if (silence < setup_.patience) break;
    if (!in.waiting) continue;
    give_up(in.group, in.calls.back(),
            fmt::format("rank 0 has been silent for {:.0f} s: it is stopped, or its machine or "
                        "network failed; it was {}",
                        seconds_of(silence),
                        place_of_rank_0_.empty() ? "never heard of" : place_of_rank_0_));
  }
  return soon;
}

// Other ranks that wait must soon see what this rank waits in for long, or that it gave up.
bool HangGuard::is_due(const RankReport& own, Clock::time_point now) const {
  const auto long_wait = std::clamp<Clock::duration>(setup_.patience / 20, 10ms, 500ms);
  const bool is_urgent =
      std::ranges::any_of(own.groups, [long_wait](const RankReport::InGroup& in) {
        return !in.failed.empty() || (in.waiting && in.waited >= long_wait);
      });
  return now >= reported_at_ + beat_of(setup_.patience) / (is_urgent ? 4 : 1);
}

void HangGuard::report(const RankReport& own) {
  const Deadline deadline = Deadline::after(std::min<Clock::duration>(1s, setup_.patience / 4));
  reported_at_ = last_stamp_;
  const Findings findings = setup_.coordinator->report(setup_.rank, own, deadline);
  answered_at_ = stamp();
  if (!findings.place.empty()) place_of_rank_0_ = findings.place;
  {
    const std::lock_guard lock(mutex_);
    suspicion_ = findings.suspicion;
  }
  for (const Verdict& verdict : findings.verdicts)
    give_up(verdict.group, verdict.call, verdict.reason);
}

RankReport HangGuard::own_report(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  RankReport report{.progress = setup_.activity->progress(), .doing = setup_.activity->doing()};
  for (const CallLog* log : logs_) {
    report.groups.push_back(log->look(now, suspended_until_));
    report.progress += log->progress();
  }
  return report;
}

void HangGuard::give_up(const std::string& group, const Call& call, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (CallLog* log : logs_)
    if (log->group() == group) log->give_up(call, reason);
}

Clock::time_point HangGuard::stamp() {
  const auto now = Clock::now();
  const auto gap = now - std::exchange(last_stamp_, now);
  if (gap < suspension_of(setup_.patience)) return now;
  suspended_until_ = now;
  suspended_for_ += gap;
  answered_at_ += gap;
  return now;
}

}  // namespace ds::comm
