// Column ops in double precision, over (rows, N) values.
#pragma once

#include "reference/values.h"

namespace ds::reference {

/// Returns `in` with scale * delta (rows, n) added to columns [first, first + n).
inline Values add_columns(Values in, const Values& delta, std::int64_t rows, std::int64_t width,
                          std::int64_t first, double scale) {
  const std::int64_t n = static_cast<std::int64_t>(delta.size()) / rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < n; ++c)
      in[static_cast<std::size_t>(r * width + first + c)] +=
          scale * delta[static_cast<std::size_t>(r * n + c)];
  }
  return in;
}

/// Returns scale * columns [first, first + n).
inline Values take_columns(const Values& in, std::int64_t rows, std::int64_t width,
                           std::int64_t first, std::int64_t n, double scale) {
  Values out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < n; ++c)
      out.push_back(scale * in[static_cast<std::size_t>(r * width + first + c)]);
  }
  return out;
}

}  // namespace ds::reference
