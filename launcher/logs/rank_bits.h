// A set of ranks: a few numbers, or bits once there are many. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ds::launcher {

class RankBits {
 public:
  explicit RankBits(std::size_t world_size = 0) : world_size_(world_size) {}

  /// `rank` is not in it yet.
  void add(int rank) {
    ++count_;
    if (bits_.empty() && few_.size() < kFew) return few_.push_back(rank);
    if (bits_.empty()) {
      bits_.resize((world_size_ + 63) / 64);
      for (const int old : few_) set(old);
      few_ = {};
    }
    set(rank);
  }
  [[nodiscard]] bool has(int rank) const {
    if (bits_.empty()) return std::find(few_.begin(), few_.end(), rank) != few_.end();
    const auto at = static_cast<std::size_t>(rank);
    return (bits_[at / 64] >> (at % 64) & 1) != 0;
  }
  /// The one that is in it, when there is one.
  [[nodiscard]] int only() const { return few_.front(); }
  /// Both have some rank.
  [[nodiscard]] bool meets(const RankBits& other) const {
    if (bits_.empty())
      return std::any_of(few_.begin(), few_.end(), [&](int rank) { return other.has(rank); });
    if (other.bits_.empty()) return other.meets(*this);
    for (std::size_t word = 0; word < bits_.size(); ++word)
      if ((bits_[word] & other.bits_[word]) != 0) return true;
    return false;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Ascending.
  [[nodiscard]] std::vector<int> all() const {
    std::vector<int> ranks = few_;
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t word = 0; word < bits_.size(); ++word)
      for (std::uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1)
        ranks.push_back(static_cast<int>(word * 64) + __builtin_ctzll(rest));
    return ranks;
  }
  [[nodiscard]] std::size_t bytes() const {
    return few_.capacity() * sizeof(int) + bits_.capacity() * sizeof(std::uint64_t);
  }

 private:
  static constexpr std::size_t kFew = 16;
  void set(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    bits_[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  std::size_t world_size_;
  std::size_t count_ = 0;
  std::vector<int> few_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace ds::launcher
