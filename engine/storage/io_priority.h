// The lowest I/O priority that any user may ask for, as ioprio_set(2) and io_uring take it.
#pragma once

#include <cstdint>

namespace ds {

// Spelled here: <linux/ioprio.h> of Linux 6.1.192 names a parameter `class`, which C++ does not read.
inline constexpr int kOwnThread = 1;                             ///< IOPRIO_WHO_PROCESS
inline constexpr std::uint16_t kLowIoPriority = (2U << 13U) | 7U;  ///< IOPRIO_CLASS_BE (best effort), level 7 of 0 to 7

}  // namespace ds
