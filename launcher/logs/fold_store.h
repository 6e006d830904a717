// What waits in a LineFold: lines with the ranks that have said them, in their order, found by
// text. Pure.
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

/// A line and the ranks that have said it.
struct FoldGroup {
  std::string_view text{};
  std::uint64_t number = 0;          // counts up, in the order of their first lines
  FoldGroup* next = nullptr;         // in that order
  FoldGroup* next_same = nullptr;    // the next one that has this text
  FoldGroup* next_opened = nullptr;  // the next one whose first rank is the same
  int opener = 0;                    // its first rank
  int count = 0;
  std::uint64_t* others = nullptr;  // bits of all its ranks, once there are more
  Clock::time_point first{};        // when the first rank wrote it
  Clock::time_point due{};
  bool crowd = false;  // more than half of all
  bool gone = false;

  // Of the store alone.
  bool indexed = false;
  std::uint32_t hash = 0;
  FoldGroup* tail = nullptr;  // of its chain of equal texts; of the first one only
  FoldGroup* hint = nullptr;  // where one was found last; of the first one only
};

/// Groups lie one behind another in large blocks: none is allocated alone. They are found by
/// comparing with the one that is expected, and by a table that is filled only when that fails.
/// Cost:    constant for each call, but for what is copied; drop_gone() for what is dropped.
class FoldStore {
 public:
  explicit FoldStore(std::size_t ranks) : words_((ranks + 63) / 64) {}

  /// A new youngest one.
  FoldGroup& open(int rank, std::string_view text);
  /// `rank` is not in it.
  void add(FoldGroup& group, int rank);
  [[nodiscard]] static bool has(const FoldGroup& group, int rank);
  /// Its ranks, ascending, in place of what `ranks` had.
  void list(const FoldGroup& group, std::vector<int>& ranks) const;
  // Sets of ranks as words() words of bits.
  /// All of `set` are in it.
  [[nodiscard]] static bool covers(const FoldGroup& group, std::span<const std::uint64_t> set);
  /// Some of `set` is in it.
  [[nodiscard]] static bool meets(const FoldGroup& group, std::span<const std::uint64_t> set);
  static void unite(const FoldGroup& group, std::span<std::uint64_t> set);

  /// The oldest with this text that waits, younger than `after` (null: of all).
  FoldGroup* find(const FoldGroup* after, std::string_view text);
  /// It waits no more. It stays readable until drop_gone().
  void leave(FoldGroup& group);
  /// Forgets those at the front that wait no more.
  void drop_gone();

  [[nodiscard]] FoldGroup* front() const { return front_; }
  [[nodiscard]] FoldGroup* back() const { return back_; }
  /// Memory, as long as anything is in it.
  [[nodiscard]] std::size_t bytes() const {
    return front_ == nullptr ? 0 : block_bytes_ + table_.size() * sizeof(Entry);
  }
  [[nodiscard]] std::size_t words() const { return words_; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    std::uint64_t last = 0;  // once it is full: its groups have smaller numbers
  };
  struct Entry {
    FoldGroup* head = nullptr;  // of a chain; null: free
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
  FoldGroup* unindexed_ = nullptr;  // it and those behind it are not in the table
  std::uint64_t next_number_ = 0;
  std::vector<Entry> table_;  // a power of two
  std::size_t chains_ = 0;
};

}  // namespace ds::launcher
