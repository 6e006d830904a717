// The lowest I/O priority open to every user, in the encoding of ioprio_set(2) and io_uring.
#pragma once

#include <cstdint>

namespace ds {

// Defined here: <linux/ioprio.h> of Linux 6.1.192 is not C++ (it names a parameter `class`).
inline constexpr int kOwnThread = 1;  ///< IOPRIO_WHO_PROCESS
inline constexpr std::uint16_t kLowIoPriority =
    (2U << 13U) | 7U;  ///< IOPRIO_CLASS_BE (best effort), level 7 of 0 to 7

}  // namespace ds
