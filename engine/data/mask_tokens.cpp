// hide_tokens(): draws from a hash of seed, sample and column.
#include "engine/data/mask_tokens.h"

#include <algorithm>

#include "engine/data/sampler.h"

namespace ds {
namespace {

/// The random numbers of one column.
class Draws {
 public:
  Draws(std::uint64_t row, std::int64_t column)
      : state_(row ^ mix_bits(static_cast<std::uint64_t>(column))) {}
  /// Returns a number in [0, 1).
  double share() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t next() { return state_ = mix_bits(state_); }
  std::uint64_t state_;
};

bool is_kept(const MaskRule& rule, std::int32_t token) {
  return std::ranges::binary_search(rule.keeps, token);
}

std::int32_t random_token(const MaskRule& rule, Draws& draws) {
  constexpr int kTries = 64;  // a vocabulary has few special tokens
  for (int i = 0; i < kTries; ++i) {
    const auto token = static_cast<std::int32_t>(draws.below(rule.tokens));
    if (!is_kept(rule, token)) return token;
  }
  return rule.mask;
}

void hide(const MaskRule& rule, std::size_t column, Draws& draws, RowBuffer& row) {
  std::int32_t& token = row.tokens()[column];
  row.targets()[column] = token;
  const double kind = draws.share();
  if (kind < 0.8) {
    token = rule.mask;
  } else if (kind < 0.9) {
    token = random_token(rule, draws);
  }
}

}  // namespace

void hide_tokens(const MaskRule& rule, std::int64_t sample, RowBuffer& row) {
  const std::uint64_t key = mix_bits(rule.seed ^ mix_bits(static_cast<std::uint64_t>(sample)));
  std::int64_t hidden = 0, free = 0, lowest = -1;
  double least = 2;
  for (std::int64_t i = 0; i < row.used(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_kept(rule, row.tokens()[at])) continue;
    Draws draws(key, i);
    const double drawn = draws.share();
    ++free;
    if (drawn < least) {
      least = drawn;
      lowest = i;
    }
    if (drawn >= rule.share) continue;
    hide(rule, at, draws, row);
    ++hidden;
  }
  if (hidden > 0 || free == 0) return;
  Draws draws(key, lowest);
  draws.share();
  hide(rule, static_cast<std::size_t>(lowest), draws, row);
}

}  // namespace ds
