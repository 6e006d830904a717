// ExactSum: a sum of doubles without rounding. It has the same bits for every order and grouping of
// the terms, hence for any number of ranks.
#pragma once

#include <array>
#include <cstdint>

namespace ds {

/// A two's complement fixed-point number wide enough for every finite double. One addition takes
/// about 5 ns; up to 2^60 additions are exact. An infinity or NaN only sets a flag, which makes the
/// sum NaN.
class ExactSum {
 public:
  static constexpr int kWords = 35;

  void add(double value);
  void add(const ExactSum& other);
  /// Returns the nearest double (ties to even).
  [[nodiscard]] double rounded() const;

  [[nodiscard]] bool has_non_finite() const { return non_finite_; }

  friend bool operator==(const ExactSum&, const ExactSum&) = default;

 private:
  void add_shifted(std::uint64_t mantissa, int bit, bool subtract);
  std::array<std::uint64_t, kWords> words_{};  // bit 0 is worth 2^-1074
  bool non_finite_ = false;
};

}  // namespace ds
