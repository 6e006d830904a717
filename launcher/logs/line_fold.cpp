// Groups in the order of their first line; each rank joins only groups younger than its last one.
#include "launcher/logs/line_fold.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "launcher/logs/line_batcher.h"

namespace ds::launcher {

namespace {

/// The length of the first line of `text` with its end; 0: it has none. A '\r' ends a line unless
/// a newline follows.
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
  writing_ = 0;
  for (std::size_t rank = 0; rank < writes.size(); ++rank) {
    ranks_[rank].writes = writes[rank];
    writing_ += writes[rank] ? 1 : 0;
  }
}

void LineFold::add(int rank, std::uint8_t flags, std::string_view text, Clock::time_point at,
                   Clock::time_point now) {
  Rank& from = ranks_[static_cast<std::size_t>(rank)];
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
  Group* same = joinable(ranks_[static_cast<std::size_t>(rank)], text);
  join(rank, same != nullptr ? *same : open_group(text, at, now));
  while (bytes_ > kMaxBytes) emit_up_to(groups_.front().number);
}

void LineFold::piece(int rank, std::string_view text, Clock::time_point at) {
  Rank& from = ranks_[static_cast<std::size_t>(rank)];
  if (from.last != nullptr) emit_with_past(*from.last);
  emit_({.ranks = {&rank, 1}, .text = text, .piece = true, .first = at});
}

LineFold::Group* LineFold::joinable(const Rank& from, std::string_view text) {
  const auto known = same_.find(text);
  if (known == same_.end()) return nullptr;
  const std::uint64_t after = from.last == nullptr ? 0 : from.last->number + 1;
  if (known->second.tail->number < after) return nullptr;
  const bool repeats = from.last != nullptr && from.last->text == text;
  Group* group = repeats ? from.last->next_same : known->second.head;
  while (group != nullptr && (group->gone || group->number < after)) group = group->next_same;
  return group;
}

LineFold::Group& LineFold::open_group(std::string_view text, Clock::time_point at,
                                      Clock::time_point now) {
  Group& group = groups_.emplace_back();
  group.text = text;
  group.ranks = RankBits(ranks_.size());
  group.number = next_number_++;
  group.first = at;
  group.due = now + kWindow;
  bytes_ += kGroupBytes + group.text.size();
  Same& same = same_[std::string_view(group.text)];
  (same.tail == nullptr ? same.head : same.tail->next_same) = &group;
  same.tail = &group;
  return group;
}

void LineFold::join(int rank, Group& group) {
  Rank& from = ranks_[static_cast<std::size_t>(rank)];
  if (group.ranks.count() == 1) ++ranks_[static_cast<std::size_t>(group.ranks.only())].shared;
  bytes_ -= group.ranks.bytes();
  group.ranks.add(rank);
  bytes_ += group.ranks.bytes();
  from.last = &group;
  ++from.waiting;
  const std::size_t count = group.ranks.count();
  if (count > 1) ++from.shared;
  if (is_complete(group)) return emit_up_to(group.number);
  if (count == 1) return let_stray_go(rank);
  if (group.crowd || count * 2 <= writing_) return;
  group.crowd = true;
  if (crowd_ == nullptr || crowd_->number < group.number) crowd_ = &group;
  for (std::size_t other = 0; other < ranks_.size(); ++other) let_stray_go(static_cast<int>(other));
}

/// A rank that says something of its own while a crowd agrees is not made to wait.
void LineFold::let_stray_go(int rank) {
  const Rank& from = ranks_[static_cast<std::size_t>(rank)];
  const bool only_own = from.waiting > 0 && from.shared == 0;
  if (only_own && crowd_ != nullptr && !crowd_->ranks.has(rank)) emit_with_past(*from.last);
}

void LineFold::let_freed_go() {
  while (!freed_.empty()) {
    const int rank = freed_.back();
    freed_.pop_back();
    let_stray_go(rank);
  }
}

bool LineFold::is_complete(const Group& group) const {
  if (group.ranks.count() < writing_) return false;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].writes && !group.ranks.has(static_cast<int>(rank))) return false;
  return true;
}

void LineFold::emit(Group& group) {
  group.gone = true;
  group.ranks.list(members_);
  const FoldedLine line{
      .ranks = members_, .text = group.text, .piece = false, .first = group.first};
  for (const int rank : line.ranks) {
    Rank& from = ranks_[static_cast<std::size_t>(rank)];
    --from.waiting;
    if (line.ranks.size() > 1 && --from.shared == 0 && from.waiting > 0) freed_.push_back(rank);
    if (from.last == &group) from.last = nullptr;
  }
  if (crowd_ == &group) crowd_ = nullptr;
  bytes_ -= kGroupBytes + group.text.size() + group.ranks.bytes();
  emit_(line);
  unlink(group);
}

/// Chains begin with a group that waits.
void LineFold::unlink(const Group& group) {
  auto node = same_.extract(same_.find(group.text));
  Same& same = node.mapped();
  while (same.head != nullptr && same.head->gone) same.head = same.head->next_same;
  if (same.head == nullptr) return;
  node.key() = same.head->text;  // the old key lies in a group that goes away
  same_.insert(std::move(node));
}

void LineFold::emit_up_to(std::uint64_t number) {
  while (!groups_.empty() && groups_.front().number <= number) {
    if (!groups_.front().gone) emit(groups_.front());
    groups_.pop_front();
  }
  drop_gone();
  let_freed_go();
}

/// Before it, what its ranks have said before; before that, what the ranks of those have, and so
/// on.
void LineFold::emit_with_past(Group& group) {
  const auto is_alone = [this](int rank) {
    return ranks_[static_cast<std::size_t>(rank)].waiting == 1;
  };
  std::vector<Group*> past = {&group};
  group.ranks.list(members_);
  if (!std::all_of(members_.begin(), members_.end(), is_alone)) {
    const std::uint64_t first = groups_.front().number;
    for (std::uint64_t number = group.number; number-- > first;) {
      Group& older = groups_[number - first];
      const bool needed =
          !older.gone && std::any_of(past.begin(), past.end(), [&](const Group* younger) {
            return younger->ranks.meets(older.ranks);
          });
      if (needed) past.push_back(&older);
    }
  }
  for (auto each = past.rbegin(); each != past.rend(); ++each) emit(**each);
  drop_gone();
  let_freed_go();
}

void LineFold::drop_gone() {
  while (!groups_.empty() && groups_.front().gone) groups_.pop_front();
}

void LineFold::ended(int rank, Clock::time_point at, Clock::time_point now) {
  Rank& from = ranks_[static_cast<std::size_t>(rank)];
  if (!from.open.empty()) line(rank, std::exchange(from.open, {}) + '\n', at, now);
  if (!std::exchange(from.writes, false)) return;
  --writing_;
  std::optional<std::uint64_t> complete;
  for (const Group& group : groups_)
    if (!group.gone && is_complete(group)) complete = group.number;
  if (complete) emit_up_to(*complete);
}

void LineFold::tick(Clock::time_point now) {
  drop_gone();
  while (!groups_.empty() && groups_.front().due <= now) emit_up_to(groups_.front().number);
}

std::optional<Clock::time_point> LineFold::wake_at() const {
  if (groups_.empty()) return std::nullopt;
  return groups_.front().due;
}

void LineFold::flush() {
  if (!groups_.empty()) emit_up_to(groups_.back().number);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!ranks_[rank].open.empty())
      piece(static_cast<int>(rank), std::exchange(ranks_[rank].open, {}), {});
}

}  // namespace ds::launcher
