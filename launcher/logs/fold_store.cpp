// Blocks of groups. The first group of a chain of equal texts waits; others in it may be gone.
#include "launcher/logs/fold_store.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace ds::launcher {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;
/// A rank may have left out this many lines of others before the table is asked.
constexpr int kSkipped = 4;

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
  const auto entry = chains_.find(text);
  if (entry == chains_.end() || entry->second.tail->number < expected->number) return nullptr;
  Chain& chain = entry->second;
  FoldGroup* group = chain.hint->number <= expected->number ? chain.hint : chain.head;
  while (group != nullptr && (group->gone || group->number < expected->number))
    group = group->next_same;
  if (group != nullptr) chain.hint = group;
  return group;
}

void FoldStore::index_rest() {
  for (; unindexed_ != nullptr; unindexed_ = unindexed_->next) {
    if (unindexed_->gone) continue;
    const Chain alone{unindexed_, unindexed_, unindexed_};
    const auto [entry, is_new] = chains_.try_emplace(unindexed_->text, alone);
    if (is_new) continue;
    entry->second.tail->next_same = unindexed_;
    entry->second.tail = unindexed_;
  }
}

void FoldStore::leave(FoldGroup& group) {
  group.gone = true;
  if (unindexed_ != nullptr && unindexed_->number <= group.number) return;
  const auto entry = chains_.find(group.text);
  if (entry->second.head != &group) return;
  FoldGroup* next = group.next_same;
  while (next != nullptr && next->gone) next = next->next_same;
  auto node = chains_.extract(entry);
  if (next == nullptr) return;
  Chain& chain = node.mapped();
  chain.head = next;
  if (chain.hint->number < next->number) chain.hint = next;
  node.key() = next->text;  // the text of `group` goes with its block
  chains_.insert(std::move(node));
}

void FoldStore::drop_gone() {
  while (front_ != nullptr && front_->gone) {
    if (unindexed_ == front_) unindexed_ = front_->next;
    front_ = front_->next;
  }
  while (blocks_.size() > 1 && (front_ == nullptr || blocks_.front().last <= front_->number)) {
    block_bytes_ -= blocks_.front().size;
    blocks_.pop_front();
  }
  if (front_ != nullptr) return;
  back_ = nullptr;
  used_ = 0;
}

}  // namespace ds::launcher
