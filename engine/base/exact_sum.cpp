// Arithmetic of ExactSum: a 2240-bit integer in units of 2^-1074, the smallest double.
#include "engine/base/exact_sum.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

namespace ds {
namespace {

constexpr int kMantissaBits = 52;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;

using Words = std::array<std::uint64_t, ExactSum::kWords>;

void negate(Words& words) {
  std::uint64_t carry = 1;
  for (std::uint64_t& word : words) {
    word = ~word + carry;
    carry = (carry == 1 && word == 0) ? 1 : 0;
  }
}

bool bit_at(const Words& words, int bit) {
  return ((words[static_cast<std::size_t>(bit / 64)] >> (bit % 64)) & 1) != 0;
}

int highest_bit(const Words& words) {
  for (int i = ExactSum::kWords - 1; i >= 0; --i) {
    const std::uint64_t word = words[static_cast<std::size_t>(i)];
    if (word != 0) return i * 64 + 63 - std::countl_zero(word);
  }
  return -1;
}

bool any_below(const Words& words, int bit) {
  for (int i = 0; i < bit; ++i) {
    if (bit_at(words, i)) return true;
  }
  return false;
}

// Returns the nearest double of a non-negative sum.
double round_words(const Words& words) {
  const int top = highest_bit(words);
  if (top < 0) return 0.0;
  const int low =
      top > kMantissaBits ? top - kMantissaBits : 0;  // lowest bit that the mantissa keeps
  std::uint64_t kept = 0;
  for (int bit = top; bit >= low; --bit) kept = (kept << 1) | (bit_at(words, bit) ? 1U : 0U);
  if (low > 0 && bit_at(words, low - 1) && ((kept & 1) != 0 || any_below(words, low - 1))) ++kept;
  return std::ldexp(static_cast<double>(kept), low - 1074);
}

}  // namespace

void ExactSum::add_shifted(std::uint64_t mantissa, int bit, bool subtract) {
  auto at = static_cast<std::size_t>(bit / 64);
  const int shift = bit % 64;
  const std::array<std::uint64_t, 2> parts{mantissa << shift,
                                           shift == 0 ? 0 : mantissa >> (64 - shift)};
  std::uint64_t carry = 0;
  for (std::size_t i = 0; at < words_.size() && (i < parts.size() || carry != 0); ++i, ++at) {
    const std::uint64_t part = i < parts.size() ? parts[i] : 0;
    const std::uint64_t before = words_[at];
    words_[at] = subtract ? before - part - carry : before + part + carry;
    const bool wrapped = subtract ? before < part || (before == part && carry != 0)
                                  : words_[at] < before || (carry != 0 && words_[at] == before);
    carry = wrapped ? 1 : 0;
  }
}

void ExactSum::add(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>((bits >> kMantissaBits) & 0x7ff);
  if (exponent == 0x7ff) {
    non_finite_ = true;
    return;
  }
  const std::uint64_t mantissa = (bits & kMantissaMask) | (exponent == 0 ? 0 : kMantissaMask + 1);
  add_shifted(mantissa, exponent == 0 ? 0 : exponent - 1, std::signbit(value));
}

void ExactSum::add(const ExactSum& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t sum = words_[i] + other.words_[i];
    const std::uint64_t total = sum + carry;
    carry = (sum < words_[i] || total < sum) ? 1 : 0;
    words_[i] = total;
  }
  non_finite_ = non_finite_ || other.non_finite_;
}

double ExactSum::rounded() const {
  if (non_finite_) return std::numeric_limits<double>::quiet_NaN();
  Words magnitude = words_;
  const bool negative = (words_.back() >> 63) != 0;
  if (negative) negate(magnitude);
  const double value = round_words(magnitude);
  return negative ? -value : value;
}

}  // namespace ds
