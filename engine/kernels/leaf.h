// The leaves of the gradient norm, which fix where sums, slices and weight decay may be cut.
#pragma once

#include <cstdint>

namespace ds {

inline constexpr std::int64_t kLeafElements = 1024;

}  // namespace ds
