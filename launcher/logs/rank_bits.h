// A set of ranks: a few numbers, or bits once there are many. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ds::launcher {

class RankBits {
 public:
  explicit RankBits(std::size_t world_size = 0) : world_size_(world_size) {}

  /// `rank` is not in it yet.
  void add(int rank) {
    if (bits_.empty() && count_ < few_.size()) {
      few_[count_++] = rank;
      return;
    }
    if (bits_.empty()) {
      bits_.resize((world_size_ + 63) / 64);
      for (const int old : few_) set(old);
    }
    ++count_;
    set(rank);
  }
  [[nodiscard]] bool has(int rank) const {
    if (bits_.empty()) {
      const auto few = first_few();
      return std::find(few.begin(), few.end(), rank) != few.end();
    }
    const auto at = static_cast<std::size_t>(rank);
    return (bits_[at / 64] >> (at % 64) & 1) != 0;
  }
  /// The one that is in it, when there is one.
  [[nodiscard]] int only() const { return few_[0]; }
  /// Both have some rank.
  [[nodiscard]] bool meets(const RankBits& other) const {
    if (bits_.empty()) {
      const auto few = first_few();
      return std::any_of(few.begin(), few.end(), [&](int rank) { return other.has(rank); });
    }
    if (other.bits_.empty()) return other.meets(*this);
    for (std::size_t word = 0; word < bits_.size(); ++word)
      if ((bits_[word] & other.bits_[word]) != 0) return true;
    return false;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// All of them, ascending, in place of what `ranks` had.
  void list(std::vector<int>& ranks) const {
    ranks.clear();
    if (bits_.empty()) {
      const auto few = first_few();
      ranks.assign(few.begin(), few.end());
      std::sort(ranks.begin(), ranks.end());
    }
    for (std::size_t word = 0; word < bits_.size(); ++word)
      for (std::uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1)
        ranks.push_back(static_cast<int>(word * 64) + __builtin_ctzll(rest));
  }
  /// Beyond its own size.
  [[nodiscard]] std::size_t bytes() const { return bits_.capacity() * sizeof(std::uint64_t); }

 private:
  [[nodiscard]] std::span<const int> first_few() const { return {few_.data(), count_}; }
  void set(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    bits_[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  std::size_t world_size_;
  std::size_t count_ = 0;
  std::array<int, 8> few_{};  // as long as there are no bits
  std::vector<std::uint64_t> bits_;
};

}  // namespace ds::launcher
