// HangGuard: the thread that publishes reports, reads findings, and on rank 0 makes them.
#include "engine/comm/mesh/hang_guard.h"

#include <pthread.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/mesh/quiet_thread.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

template <class Span>
Clock::duration between(Span low, Clock::duration value, Span high) {
  return std::clamp<Clock::duration>(value, low, high);
}

// Counted up by every rank that waits, so that rank 0 reads reports only then.
constexpr const char* kWaits = "waits";
constexpr const char* kFindings = "findings";

std::string key_of(int rank) { return fmt::format("report/{}", rank); }

}  // namespace

HangGuard::HangGuard(Setup setup)
    : setup_(std::move(setup)),
      look_every_(between<Clock::duration>(10ms, setup_.patience / 40, 250ms)),
      wait_before_reading_(between<Clock::duration>(10ms, setup_.patience / 20, 500ms)),
      beat_every_(between<Clock::duration>(20ms, setup_.patience / 10, 1s)),
      answer_within_(std::min<Clock::duration>(1s, setup_.patience / 4)),
      suspended_(std::min<Clock::duration>(5s, setup_.patience / 2)),
      last_stamp_(Clock::now()),
      suspended_until_(last_stamp_),
      answered_at_(last_stamp_),
      observed_(static_cast<std::size_t>(setup_.rank == 0 ? setup_.world_size : 0)) {
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
  const std::vector<Wait> waits = this->waits();
  const bool waits_long = std::ranges::any_of(
      waits, [&](const Wait& wait) { return now - wait.since >= wait_before_reading_; });
  try {
    publish(own, waits_long);
    if (setup_.rank == 0 && now >= next_read_) {
      next_read_ = now + beat_every_;
      oversee(own, waits_long ? waits : std::vector<Wait>());
    } else if (waits_long && now >= next_read_) {
      next_read_ = now + beat_every_;
      read_findings(waits);
    }
  } catch (const Error&) {
    // The store does not answer: the silence of rank 0 grows.
  }
  const auto silence = stamp() - answered_at_;
  if (!waits_long || silence < setup_.patience) return;
  for (const Wait& wait : waits) {
    give_up(wait,
            fmt::format("rank 0 has been silent for {:.0f} s: it is stopped, or its machine or "
                        "network failed; it was {}",
                        std::chrono::duration<double>(silence).count(),
                        place_of_rank_0_.empty() ? "never heard of" : place_of_rank_0_));
  }
}

// Other ranks that wait for the same call must soon see what this rank waits in.
void HangGuard::publish(const RankReport& own, bool waits_long) {
  RankReport news{.groups = own.groups};
  for (RankReport::InGroup& in : news.groups) in.waited = 0;
  std::string calls = ds::encode(news);
  const bool has_failed = std::ranges::any_of(
      own.groups, [](const RankReport::InGroup& in) { return !in.failed.empty(); });
  const bool has_news = (waits_long || has_failed) && calls != published_;
  if (!has_news && last_stamp_ < next_beat_) return;
  next_beat_ = last_stamp_ + beat_every_;
  RankReport report = own;
  report.beat = ++beat_;
  store().set(key_of(setup_.rank), ds::encode(report), Deadline::after(answer_within_));
  answered_at_ = stamp();
  published_ = std::move(calls);
}

// Rank 0 reads the reports while some rank waits, itself included.
void HangGuard::oversee(const RankReport& own, const std::vector<Wait>& waits) {
  const std::int64_t count = store().add(kWaits, 0, Deadline::after(answer_within_));
  if (std::exchange(waits_seen_, count) == count && waits.empty()) return;
  for (int rank = 1; rank < setup_.world_size; ++rank) {
    const auto text = store().get(key_of(rank), Deadline::after(answer_within_));
    stamp();
    observe(rank, text.value_or(""));
  }
  Observed& self = observed_.front();
  const auto now = stamp();
  if (own.progress != self.report.progress) self.progress_at = now;
  self.beat_at = now;
  self.report = own;
  const Findings findings = find_hangs(
      observed_, [this](const std::string& group) { return members_of(group); }, setup_.patience,
      now);
  std::string text = ds::encode(findings);
  if (text != findings_) store().set(kFindings, text, Deadline::after(answer_within_));
  findings_ = std::move(text);
  heed(findings, waits);
}

void HangGuard::read_findings(const std::vector<Wait>& waits) {
  store().add(kWaits, 1, Deadline::after(answer_within_));
  const auto text = store().get(kFindings, Deadline::after(answer_within_));
  answered_at_ = stamp();
  if (const auto findings = decode_findings(text.value_or("\n\n"))) heed(*findings, waits);
}

void HangGuard::heed(const Findings& findings, const std::vector<Wait>& waits) {
  if (!findings.place.empty()) place_of_rank_0_ = findings.place;
  {
    const std::lock_guard lock(mutex_);
    suspicion_ = findings.suspicion;
  }
  for (const Verdict& verdict : findings.verdicts) {
    for (const Wait& wait : waits) {
      if (wait.group == verdict.group && wait.call == verdict.call) give_up(wait, verdict.reason);
    }
  }
}

// The first member of a group writes the list when the group is made.
std::vector<int> HangGuard::members_of(const std::string& group) {
  std::vector<int>& ranks = members_of_groups_[group];
  if (!ranks.empty()) return ranks;
  const auto text = store().get(group + "/members", Deadline::after(answer_within_));
  std::istringstream words(text.value_or(""));
  for (int rank = 0; words >> rank;)
    if (rank >= 0 && rank < setup_.world_size) ranks.push_back(rank);
  return ranks;
}

std::vector<HangGuard::Wait> HangGuard::waits() {
  const std::lock_guard lock(mutex_);
  std::vector<Wait> waits;
  for (const Member& member : members_) {
    const auto waiting = member.log->waiting();
    if (!waiting) continue;
    waits.push_back({.group = member.group,
                     .call = waiting->first,
                     .since = std::max(waiting->second, suspended_until_),
                     .log = member.log});
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
    RankReport::InGroup& in = report.groups.emplace_back(member.log->look(member.group));
    if (const auto waiting = member.log->waiting(); waiting && in.waiting) {
      const auto since = std::max(waiting->second, suspended_until_);
      in.waited = static_cast<std::uint64_t>(std::max<std::int64_t>(
          0, std::chrono::duration_cast<std::chrono::milliseconds>(last_stamp_ - since).count()));
    }
    report.progress += member.log->count() + member.traffic->load(std::memory_order_relaxed);
  }
  return report;
}

void HangGuard::observe(int rank, const std::string& text) {
  Observed& seen = observed_[static_cast<std::size_t>(rank)];
  const auto report = decode_rank_report(text);
  if (!report) return;
  if (report->beat != seen.report.beat) seen.beat_at = last_stamp_;
  if (report->progress != seen.report.progress) seen.progress_at = last_stamp_;
  seen.report = *report;
}

void HangGuard::give_up(const Wait& wait, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const Member& member : members_)
    if (member.log == wait.log) member.log->give_up(wait.call, reason);
}

Clock::time_point HangGuard::stamp() {
  const auto now = Clock::now();
  const auto gap = now - std::exchange(last_stamp_, now);
  if (gap < suspended_) return now;
  suspended_until_ = now;
  answered_at_ += gap;
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
