// A sum of doubles without rounding: the same bits in every order and grouping, so on any number of
// ranks.
#pragma once

#include <array>
#include <cstdint>

namespace ds {

/// A fixed-point number wide enough for every finite double, as two's complement. About 5 ns an
/// addition. Up to 2^60 additions; infinities and NaN only set a flag, and the sum is then NaN.
class ExactSum {
 public:
  static constexpr int kWords = 35;

  void add(double value);
  void add(const ExactSum& other);
  /// The nearest double (ties to even).
  [[nodiscard]] double rounded() const;

  /// For the wire.
  [[nodiscard]] const std::array<std::uint64_t, kWords>& words() const { return words_; }
  [[nodiscard]] bool has_non_finite() const { return non_finite_; }
  static ExactSum from_words(const std::array<std::uint64_t, kWords>& words, bool has_non_finite);

  friend bool operator==(const ExactSum&, const ExactSum&) = default;

 private:
  void add_shifted(std::uint64_t mantissa, int bit, bool subtract);
  std::array<std::uint64_t, kWords> words_{};  // bit 0 is worth 2^-1074
  bool non_finite_ = false;
};

}  // namespace ds
