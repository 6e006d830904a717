// Types and helpers that all parts of the oracle use.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ds::reference {

using Values = std::vector<double>;
using Index = std::size_t;

inline double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace ds::reference
