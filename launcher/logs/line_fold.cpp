// Groups are ordered by their first line; a rank joins only groups younger than its last one.
#include "launcher/logs/line_fold.h"

#include <utility>

#include "engine/base/error.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {
namespace {

/// Returns the length of the first line of `text` with its end; 0 if it is unfinished. A '\r' ends
/// a line unless a newline follows.
std::size_t line_length(std::string_view text, bool has_cr) {
  const std::size_t newline = text.find('\n');
  if (has_cr) {
    const std::string_view before = text.substr(0, newline);
    const std::size_t cr = before.find('\r');
    if (cr != std::string_view::npos &&
        (cr + 1 < before.size() || newline == std::string_view::npos))
      return cr + 1;
  }
  return newline == std::string_view::npos ? 0 : newline + 1;
}

}  // namespace

void LineFold::start(const std::vector<bool>& writes) {
  flush();
  ranks_.clear();
  ranks_.resize(writes.size());
  store_ = FoldStore(writes.size());
  writing_.assign(store_.words(), 0);
  still_writing_ = 0;
  for (std::size_t rank = 0; rank < writes.size(); ++rank) {
    if (!writes[rank]) continue;
    writing_[rank / 64] |= std::uint64_t{1} << (rank % 64);
    ++still_writing_;
  }
}

void LineFold::add(int rank, std::uint8_t flags, std::string_view text, Clock::time_point at,
                   Clock::time_point now) {
  Rank& from = of(rank);
  const bool has_cr = text.find('\r') != std::string_view::npos;
  while (!text.empty()) {
    const std::size_t length = line_length(text, has_cr);
    if (length == 0) break;
    const std::string_view whole = text.substr(0, length);
    text.remove_prefix(length);
    if (std::exchange(from.in_piece, false)) {
      piece(rank, whole, at);
    } else if (from.open.empty()) {
      line(rank, whole, at, now);
    } else {
      from.open += whole;
      line(rank, std::exchange(from.open, {}), at, now);
    }
  }
  from.open += text;
  const bool stands_still = (flags & kOutputPartial) != 0 && (flags & kOutputMore) == 0;
  if (from.open.empty() || !(stands_still || from.in_piece || from.open.size() > kMaxLine)) return;
  piece(rank, std::exchange(from.open, {}), at);
  from.in_piece = true;
}

void LineFold::line(int rank, std::string_view text, Clock::time_point at, Clock::time_point now) {
  FoldGroup* const same = store_.find(of(rank).last, text);
  if (same != nullptr) {
    join(rank, *same);
  } else {
    open_group(rank, text, at, now);
  }
  while (store_.bytes() > kMaxBytes) emit_up_to(store_.front()->number);
}

void LineFold::piece(int rank, std::string_view text, Clock::time_point at) {
  if (of(rank).last != nullptr) emit_with_past(*of(rank).last);
  emit_({.ranks = {&rank, 1}, .text = text, .piece = true, .first = at});
}

void LineFold::open_group(int rank, std::string_view text, Clock::time_point at,
                          Clock::time_point now) {
  FoldGroup& group = store_.open(rank, text);
  group.first = at;
  group.due = now + kWindow;
  Rank& from = of(rank);
  from.last = &group;
  (from.opened == nullptr ? from.opened : from.last_opened->next_opened) = &group;
  from.last_opened = &group;
  ++from.waiting;
  if (is_complete(group)) return emit_up_to(group.number);
  let_stray_go(rank);
}

void LineFold::join(int rank, FoldGroup& group) {
  if (group.count == 1) ++of(group.opener).shared;
  store_.add(group, rank);
  Rank& from = of(rank);
  from.last = &group;
  ++from.waiting;
  ++from.shared;
  if (is_complete(group)) return emit_up_to(group.number);
  look_at_crowd(group);
}

void LineFold::look_at_crowd(FoldGroup& group) {
  if (group.crowd || group.count * 2 <= still_writing_) return;
  group.crowd = true;
  if (crowd_ == nullptr || crowd_->number < group.number) crowd_ = &group;
  for (std::size_t other = 0; other < ranks_.size(); ++other) let_stray_go(static_cast<int>(other));
}

/// Emits the lines of a rank that writes something of its own while a crowd agrees. All of its
/// waiting lines are its own, so no line of others comes before them.
void LineFold::let_stray_go(int rank) {
  Rank& from = of(rank);
  const bool only_own = from.waiting > 0 && from.shared == 0;
  if (!only_own || crowd_ == nullptr || FoldStore::has(*crowd_, rank)) return;
  while (from.opened != nullptr) emit(*from.opened);
  store_.drop_gone();
}

void LineFold::let_freed_go() {
  while (!freed_.empty()) {
    const int rank = freed_.back();
    freed_.pop_back();
    let_stray_go(rank);
  }
}

bool LineFold::is_complete(const FoldGroup& group) const {
  return group.count >= still_writing_ && FoldStore::covers(group, writing_);
}

void LineFold::emit(FoldGroup& group) {
  store_.list(group, members_);
  for (const int rank : members_) {
    Rank& from = of(rank);
    --from.waiting;
    if (group.count > 1 && --from.shared == 0 && from.waiting > 0) freed_.push_back(rank);
    if (from.last == &group) from.last = nullptr;
  }
  Rank& opener = of(group.opener);
  DS_ASSERT(opener.opened == &group);  // the lines of a rank leave in their order
  opener.opened = group.next_opened;
  if (crowd_ == &group) crowd_ = nullptr;
  store_.leave(group);
  emit_({.ranks = members_, .text = group.text, .piece = false, .first = group.first});
}

void LineFold::emit_up_to(std::uint64_t number) {
  for (FoldGroup* group = store_.front(); group != nullptr && group->number <= number;
       group = group->next)
    if (!group->gone) emit(*group);
  store_.drop_gone();
  let_freed_go();
}

/// Emits `group` after all earlier groups of its ranks, those after all earlier groups of their
/// ranks, and so on.
void LineFold::emit_with_past(FoldGroup& group) {
  std::vector<FoldGroup*> older;
  for (FoldGroup* each = store_.front(); each != &group; each = each->next)
    if (!each->gone) older.push_back(each);
  std::vector<std::uint64_t> needed(store_.words());
  std::vector<FoldGroup*> past = {&group};
  FoldStore::unite(group, needed);
  for (auto each = older.rbegin(); each != older.rend(); ++each) {
    if (!FoldStore::meets(**each, needed)) continue;
    FoldStore::unite(**each, needed);
    past.push_back(*each);
  }
  for (auto each = past.rbegin(); each != past.rend(); ++each) emit(**each);
  store_.drop_gone();
  let_freed_go();
}

void LineFold::ended(int rank, Clock::time_point at, Clock::time_point now) {
  Rank& from = of(rank);
  if (!from.open.empty()) line(rank, std::exchange(from.open, {}) + '\n', at, now);
  const auto bit = std::uint64_t{1} << (rank % 64);
  std::uint64_t& word = writing_[static_cast<std::size_t>(rank) / 64];
  if ((word & bit) == 0) return;
  word &= ~bit;
  --still_writing_;
  std::optional<std::uint64_t> complete;
  for (const FoldGroup* group = store_.front(); group != nullptr; group = group->next)
    if (!group->gone && is_complete(*group)) complete = group->number;
  if (complete) emit_up_to(*complete);
}

void LineFold::tick(Clock::time_point now) {
  while (store_.front() != nullptr && store_.front()->due <= now)
    emit_up_to(store_.front()->number);
}

std::optional<Clock::time_point> LineFold::wake_at() const {
  if (store_.front() == nullptr) return std::nullopt;
  return store_.front()->due;
}

void LineFold::flush() {
  if (store_.back() != nullptr) emit_up_to(store_.back()->number);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!ranks_[rank].open.empty())
      piece(static_cast<int>(rank), std::exchange(ranks_[rank].open, {}), {});
}

}  // namespace ds::launcher
