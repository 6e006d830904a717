// relative_bucket(): the bucket of T5's relative position bias for a distance, for all backends.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ds {

/// Returns the bucket of `distance` (key - query). Half of the buckets (of each direction, if
/// bidirectional) hold one distance each; the others widen by a constant ratio up to max_distance.
/// Source: transformers' T5Attention._relative_position_bucket.
inline std::int64_t relative_bucket(std::int64_t distance, std::int64_t buckets,
                                    std::int64_t max_distance, bool bidirectional) {
  std::int64_t first = 0;
  if (bidirectional) {
    buckets /= 2;
    first = distance > 0 ? buckets : 0;
  }
  const std::int64_t far =
      bidirectional ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
  const std::int64_t exact = buckets / 2;
  if (far < exact) return first + far;
  const double ratio = std::log(static_cast<double>(far) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  // Far below the gap between whole distances. A distance on a border belongs above it.
  constexpr double kBorder = 1e-9;
  const auto wide =
      static_cast<std::int64_t>(ratio * static_cast<double>(buckets - exact) + kBorder);
  return first + std::min(exact + wide, buckets - 1);
}

}  // namespace ds
