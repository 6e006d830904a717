// Blocks of groups, and a hash table with linear probing and backward-shift deletion.
#include "launcher/logs/fold_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace ds::launcher {

namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;
constexpr std::size_t kFirstTable = 256;
/// A rank may have left out this many lines of others before the table is asked.
constexpr int kSkipped = 4;

std::uint32_t hash_of(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

/// Returns the bits of the ranks from 64 * `word` on.
std::uint64_t word_of(const FoldGroup& group, std::size_t word) {
  if (group.others != nullptr) return group.others[word];
  const auto opener = static_cast<std::size_t>(group.opener);
  return opener / 64 == word ? std::uint64_t{1} << (opener % 64) : 0;
}

}  // namespace

void* FoldStore::take(std::size_t bytes) {
  const std::size_t aligned =
      (bytes + alignof(FoldGroup) - 1) / alignof(FoldGroup) * alignof(FoldGroup);
  if (blocks_.empty() || blocks_.back().size - used_ < aligned) {
    if (!blocks_.empty()) blocks_.back().last = next_number_;
    const std::size_t size = std::max(kBlock, aligned);
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size, 0});
    block_bytes_ += size;
    used_ = 0;
  }
  return blocks_.back().bytes.get() + std::exchange(used_, used_ + aligned);
}

FoldGroup& FoldStore::open(int rank, std::string_view text) {
  auto* room = static_cast<std::byte*>(take(sizeof(FoldGroup) + text.size()));
  char* copy = reinterpret_cast<char*>(room + sizeof(FoldGroup));
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  auto* group = new (room)
      FoldGroup{.text = {copy, text.size()}, .number = next_number_++, .opener = rank, .count = 1};
  (back_ == nullptr ? front_ : back_->next) = group;
  back_ = group;
  if (unindexed_ == nullptr) unindexed_ = group;
  return *group;
}

void FoldStore::add(FoldGroup& group, int rank) {
  const auto set = [&](int each) {
    const auto at = static_cast<std::size_t>(each);
    group.others[at / 64] |= std::uint64_t{1} << (at % 64);
  };
  if (group.others == nullptr) {
    // The bits lie in a block that is at least as young as the group, so they live as long.
    group.others = static_cast<std::uint64_t*>(take(words_ * sizeof(std::uint64_t)));
    std::fill_n(group.others, words_, 0);
    set(group.opener);
  }
  set(rank);
  ++group.count;
}

bool FoldStore::has(const FoldGroup& group, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return (word_of(group, at / 64) >> (at % 64) & 1) != 0;
}

void FoldStore::list(const FoldGroup& group, std::vector<int>& ranks) const {
  ranks.clear();
  if (group.others == nullptr) return ranks.push_back(group.opener);
  for (std::size_t word = 0; word < words_; ++word)
    for (std::uint64_t rest = group.others[word]; rest != 0; rest &= rest - 1)
      ranks.push_back(static_cast<int>(word * 64) + __builtin_ctzll(rest));
}

bool FoldStore::covers(const FoldGroup& group, std::span<const std::uint64_t> set) {
  for (std::size_t word = 0; word < set.size(); ++word)
    if ((set[word] & ~word_of(group, word)) != 0) return false;
  return true;
}

bool FoldStore::meets(const FoldGroup& group, std::span<const std::uint64_t> set) {
  for (std::size_t word = 0; word < set.size(); ++word)
    if ((set[word] & word_of(group, word)) != 0) return true;
  return false;
}

void FoldStore::unite(const FoldGroup& group, std::span<std::uint64_t> set) {
  for (std::size_t word = 0; word < set.size(); ++word) set[word] |= word_of(group, word);
}

FoldGroup* FoldStore::find(const FoldGroup* after, std::string_view text) {
  FoldGroup* expected = after == nullptr ? front_ : after->next;
  for (int skipped = 0; skipped < kSkipped; ++skipped) {
    if (expected == nullptr) return nullptr;
    if (!expected->gone && expected->text == text) return expected;
    expected = expected->next;
  }
  if (expected == nullptr) return nullptr;
  index_rest();
  FoldGroup* const head = table_[slot_of(hash_of(text), text)].head;
  if (head == nullptr || head->tail->number < expected->number) return nullptr;
  FoldGroup* group = head->hint->number <= expected->number ? head->hint : head;
  while (group != nullptr && (group->gone || group->number < expected->number))
    group = group->next_same;
  if (group != nullptr) head->hint = group;
  return group;
}

// The table. The first group of a chain waits; others in it may be gone.

std::size_t FoldStore::slot_of(std::uint32_t hash, std::string_view text) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  while (table_[slot].head != nullptr &&
         (table_[slot].hash != hash || table_[slot].head->text != text))
    slot = (slot + 1) & mask;
  return slot;
}

void FoldStore::index_rest() {
  if (table_.empty()) table_.resize(kFirstTable);
  for (; unindexed_ != nullptr; unindexed_ = unindexed_->next)
    if (!unindexed_->gone) index(*unindexed_);
}

void FoldStore::index(FoldGroup& group) {
  if (chains_ * 4 >= table_.size() * 3) grow_table();
  group.indexed = true;
  group.hash = hash_of(group.text);
  Entry& entry = table_[slot_of(group.hash, group.text)];
  if (entry.head == nullptr) {
    entry = {&group, group.hash};
    group.tail = group.hint = &group;
    ++chains_;
  } else {
    entry.head->tail->next_same = &group;
    entry.head->tail = &group;
  }
}

void FoldStore::grow_table() {
  std::vector<Entry> old(table_.size() * 2);
  old.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.head == nullptr) continue;
    std::size_t slot = entry.hash & mask;
    while (table_[slot].head != nullptr) slot = (slot + 1) & mask;
    table_[slot] = entry;
  }
}

void FoldStore::free_slot(std::size_t slot) {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = (slot + 1) & mask; table_[at].head != nullptr; at = (at + 1) & mask) {
    const std::size_t wanted = table_[at].hash & mask;
    if (((at - wanted) & mask) < ((at - slot) & mask)) continue;  // this entry may stay where it is
    table_[slot] = table_[at];
    slot = at;
  }
  table_[slot] = {};
  --chains_;
}

void FoldStore::leave(FoldGroup& group) {
  group.gone = true;
  if (!group.indexed) return;
  const std::size_t slot = slot_of(group.hash, group.text);
  FoldGroup* const head = table_[slot].head;
  if (head != &group) return;
  FoldGroup* next = head->next_same;
  while (next != nullptr && next->gone) next = next->next_same;
  if (next == nullptr) return free_slot(slot);
  next->tail = head->tail;
  next->hint = head->hint->number < next->number ? next : head->hint;
  table_[slot].head = next;
}

void FoldStore::drop_gone() {
  while (front_ != nullptr && front_->gone) {
    if (unindexed_ == front_) unindexed_ = front_->next;
    front_ = front_->next;
  }
  if (front_ == nullptr) {
    back_ = nullptr;
    while (blocks_.size() > 1) {
      block_bytes_ -= blocks_.front().size;
      blocks_.pop_front();
    }
    used_ = 0;
    return;
  }
  while (blocks_.size() > 1 && blocks_.front().last <= front_->number) {
    block_bytes_ -= blocks_.front().size;
    blocks_.pop_front();
  }
}

}  // namespace ds::launcher
