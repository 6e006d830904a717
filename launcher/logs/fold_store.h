// Holds the lines that wait in a LineFold, each with the ranks that wrote it; finds them by text.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// A line and the ranks that wrote it.
struct FoldGroup {
  std::string_view text{};
  std::uint64_t number = 0;          // counts up, in the order of their first lines
  FoldGroup* next = nullptr;         // in that order
  FoldGroup* next_same = nullptr;    // the next group with this text
  FoldGroup* next_opened = nullptr;  // the next group whose first rank is the same
  int opener = 0;                    // the first rank
  int count = 0;
  std::uint64_t* others = nullptr;  // bits of all ranks, once there are several
  Clock::time_point first{};        // when the first rank wrote it
  Clock::time_point due{};
  bool crowd = false;  // more than half of all ranks wrote it
  bool gone = false;

  // Used by FoldStore only.
  bool indexed = false;
  std::uint32_t hash = 0;
  FoldGroup* tail = nullptr;  // in the first group of a chain of equal texts: the last one
  FoldGroup* hint = nullptr;  // in the first group of a chain: where find() ended last
};

/// Stores groups one after another in large blocks, so none is allocated alone. A line is compared
/// with the group that is expected next; only when that fails is a hash table filled and asked.
/// Cost:    constant for each call, plus the bytes copied; drop_gone() is linear in what it drops.
class FoldStore {
 public:
  explicit FoldStore(std::size_t ranks) : words_((ranks + 63) / 64) {}

  /// Adds a new, youngest group.
  FoldGroup& open(int rank, std::string_view text);
  /// Adds `rank`, which is not in the group yet.
  void add(FoldGroup& group, int rank);
  [[nodiscard]] static bool has(const FoldGroup& group, int rank);
  /// Replaces `ranks` by the group's ranks, ascending.
  void list(const FoldGroup& group, std::vector<int>& ranks) const;
  // A set of ranks is words() words of bits.
  /// Returns whether all of `set` are in the group.
  [[nodiscard]] static bool covers(const FoldGroup& group, std::span<const std::uint64_t> set);
  /// Returns whether any of `set` is in the group.
  [[nodiscard]] static bool meets(const FoldGroup& group, std::span<const std::uint64_t> set);
  static void unite(const FoldGroup& group, std::span<std::uint64_t> set);

  /// Returns the oldest waiting group with this text that is younger than `after`, if that is not
  /// null.
  FoldGroup* find(const FoldGroup* after, std::string_view text);
  /// Ends the waiting of a group, which stays readable until drop_gone().
  void leave(FoldGroup& group);
  /// Removes the oldest groups up to the first one that still waits.
  void drop_gone();

  [[nodiscard]] FoldGroup* front() const { return front_; }
  [[nodiscard]] FoldGroup* back() const { return back_; }
  /// Returns the memory in use; 0 while the store is empty.
  [[nodiscard]] std::size_t bytes() const {
    return front_ == nullptr ? 0 : block_bytes_ + table_.size() * sizeof(Entry);
  }
  [[nodiscard]] std::size_t words() const { return words_; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::uint64_t last = 0;  // once full: all of its groups have smaller numbers
  };
  struct Entry {
    FoldGroup* head = nullptr;  // of a chain; null: the slot is free
    std::uint32_t hash = 0;
  };
  void* take(std::size_t bytes);
  void index_rest();
  void index(FoldGroup& group);
  void grow_table();
  [[nodiscard]] std::size_t slot_of(std::uint32_t hash, std::string_view text) const;
  void free_slot(std::size_t slot);

  std::size_t words_;
  std::deque<Block> blocks_;
  std::size_t used_ = 0;  // of the last block
  std::size_t block_bytes_ = 0;
  FoldGroup* front_ = nullptr;
  FoldGroup* back_ = nullptr;
  FoldGroup* unindexed_ = nullptr;  // this group and all younger ones are not in the table
  std::uint64_t next_number_ = 0;
  std::vector<Entry> table_;  // a power of two
  std::size_t chains_ = 0;
};

}  // namespace ds::launcher
