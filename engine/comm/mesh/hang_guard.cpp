// HangGuard: the thread that publishes and reads reports and judges them.
#include "engine/comm/mesh/hang_guard.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/mesh/quiet_thread.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

// Limits the reads to 100 a second per waiting rank, so that rank 0 can answer them.
constexpr Clock::duration kReadPerRank = 10ms;

template <class Span>
Clock::duration between(Span low, Clock::duration value, Span high) {
  return std::clamp<Clock::duration>(value, low, high);
}

std::string key_of(int rank) { return fmt::format("report/{}", rank); }

}  // namespace

HangGuard::HangGuard(Setup setup)
    : setup_(std::move(setup)),
      look_every_(between<Clock::duration>(10ms, setup_.patience / 40, 250ms)),
      wait_before_reading_(between<Clock::duration>(10ms, setup_.patience / 20, 500ms)),
      beat_every_(between<Clock::duration>(20ms, setup_.patience / 10, 1s)),
      read_every_(std::max(beat_every_, setup_.world_size * kReadPerRank)),
      answer_within_(std::min<Clock::duration>(1s, setup_.patience / 4)),
      suspended_(std::min<Clock::duration>(5s, setup_.patience / 2)),
      observed_(static_cast<std::size_t>(setup_.world_size)),
      last_stamp_(Clock::now()),
      suspended_until_(last_stamp_) {
  for (Observed& each : observed_) each.beat_at = each.progress_at = last_stamp_;
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

void HangGuard::add(const Member& member) {
  const std::lock_guard lock(mutex_);
  members_.push_back(member);
}

void HangGuard::remove(const CallLog* log) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [log](const Member& member) { return member.log == log; });
}

std::string HangGuard::suspicion() const {
  const std::lock_guard lock(mutex_);
  return suspicion_;
}

void HangGuard::run() {
  ::pthread_setname_np(::pthread_self(), "ds-guard");
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    look();
    lock.lock();
    changed_.wait_for(lock, look_every_, [this] { return stop_; });
  }
}

void HangGuard::look() {
  const auto now = stamp();
  const RankReport own = own_report();
  Observed& self = observed_[static_cast<std::size_t>(setup_.rank)];
  if (own.progress != self.report.progress) self.progress_at = now;
  self.beat_at = now;
  self.report = own;
  const std::vector<Wait> waits = this->waits();
  const bool waits_long = std::ranges::any_of(
      waits, [&](const Wait& wait) { return now - wait.what.since >= wait_before_reading_; });
  try {
    talk(own, waits_long);
  } catch (const Error&) {
    // Rank 0 does not answer: its silence grows, while nothing is known about the others.
    const auto later = stamp();
    for (std::size_t rank = 1; rank < observed_.size(); ++rank)
      observed_[rank].beat_at = observed_[rank].progress_at = later;
  }
  if (!waits_long) return;
  for (const Wait& wait : waits) {
    if (const auto reason = judge(wait.what, observed_, setup_.patience, stamp()))
      give_up(wait, *reason);
  }
}

void HangGuard::talk(const RankReport& own, bool waits_long) {
  // Other ranks that wait for the same call must soon see what this rank waits in.
  std::string calls = ds::encode(RankReport{.groups = own.groups});
  const bool has_failed = std::ranges::any_of(
      own.groups, [](const RankReport::InGroup& in) { return !in.failed.empty(); });
  const bool has_news = (waits_long || has_failed) && calls != published_;
  if (has_news || last_stamp_ >= next_beat_) {
    next_beat_ = last_stamp_ + beat_every_;
    publish(own);
    published_ = std::move(calls);
  }
  if (!waits_long || last_stamp_ < next_read_) return;
  next_read_ = last_stamp_ + read_every_;
  read_others();
}

std::vector<HangGuard::Wait> HangGuard::waits() {
  const std::lock_guard lock(mutex_);
  std::vector<Wait> waits;
  for (const Member& member : members_) {
    const auto waiting = member.log->waiting();
    if (!waiting) continue;
    waits.push_back({{.rank = setup_.rank,
                      .group = member.group,
                      .members = *member.ranks,
                      .call = waiting->first,
                      .since = std::max(waiting->second, suspended_until_)},
                     member.log});
  }
  return waits;
}

RankReport HangGuard::own_report() {
  const std::lock_guard lock(mutex_);
  RankReport report{.beat = beat_,
                    .progress = setup_.activity->progress(),
                    .doing = setup_.activity->doing(),
                    .groups = {}};
  for (const Member& member : members_) {
    report.groups.push_back(member.log->look(member.group));
    report.progress += member.log->count() + member.traffic->load(std::memory_order_relaxed);
  }
  return report;
}

void HangGuard::publish(const RankReport& report) {
  RankReport now = report;
  now.beat = ++beat_;
  store().set(key_of(setup_.rank), ds::encode(now), Deadline::after(answer_within_));
  stamp();
}

void HangGuard::read_others() {
  for (int rank = 0; rank < setup_.world_size; ++rank) {
    if (rank == setup_.rank) continue;
    const auto text = store().get(key_of(rank), Deadline::after(answer_within_));
    stamp();
    observe(rank, text.value_or(""));
  }
  const auto now = stamp();
  const auto silence = [&](const Observed& each) { return now - each.beat_at; };
  const auto worst = std::ranges::max_element(observed_, {}, silence);
  const auto rank = worst - observed_.begin();
  const std::lock_guard lock(mutex_);
  suspicion_.clear();
  if (silence(*worst) >= setup_.patience / 2)
    suspicion_ = fmt::format("rank {} has been silent for {:.0f} s", rank,
                             std::chrono::duration<double>(silence(*worst)).count());
}

// Rank 0 has answered, so it is alive, whatever its guard's thread does.
void HangGuard::observe(int rank, const std::string& text) {
  Observed& seen = observed_[static_cast<std::size_t>(rank)];
  if (setup_.rank != 0) observed_[0].beat_at = last_stamp_;
  const auto report = decode_rank_report(text);
  if (!report) return;
  if (report->beat != seen.report.beat) seen.beat_at = last_stamp_;
  if (report->progress != seen.report.progress) seen.progress_at = last_stamp_;
  seen.report = *report;
}

void HangGuard::give_up(const Wait& wait, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const Member& member : members_)
    if (member.log == wait.log) member.log->give_up(wait.what.call, reason);
}

Clock::time_point HangGuard::stamp() {
  const auto now = Clock::now();
  const auto gap = now - std::exchange(last_stamp_, now);
  if (gap < suspended_) return now;
  suspended_until_ = now;
  for (Observed& each : observed_) {
    each.beat_at += gap;
    each.progress_at += gap;
  }
  return now;
}

StoreClient& HangGuard::store() {
  if (!store_ || store_->descriptor() < 0)
    store_ = std::make_unique<StoreClient>(setup_.store, Deadline::after(answer_within_));
  return *store_;
}

}  // namespace ds::comm
