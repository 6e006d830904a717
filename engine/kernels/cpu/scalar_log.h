// Natural logarithm in f64 without libm, whose last bit differs between versions.
#pragma once

#include <bit>
#include <cstdint>

namespace ds::cpu {

/// Returns log(x) of positive normal x, error below 2 ulp; returns infinity and NaN unchanged.
/// log(x) = e ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)), |s| < 0.1716.
constexpr double scalar_log(double x) {
  if (!(x < 0x1p1023)) return x;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t kRootHalf = 0x3FE6A09E667F3BCDU;
  const std::uint64_t moved = bits - kRootHalf;
  const auto exponent = static_cast<std::int64_t>(moved) >> 52;
  const double m = std::bit_cast<double>((moved & 0x000FFFFFFFFFFFFFU) + kRootHalf);
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 0;
  for (int i = 23; i >= 3; i -= 2) sum = (sum + 1.0 / i) * z;
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2 * s * (1 + sum);
}

}  // namespace ds::cpu
