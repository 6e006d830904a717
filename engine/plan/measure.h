// Measures how fast this machine's memory and its link to the device are.
#pragma once

#include "engine/device/device.h"

namespace ds {

/// Returns the bytes per second from the host's pinned memory to the device while the same number
/// goes back; of the slower direction. Takes about 0.1 s and 64 MiB on both sides. Errors: as
/// Device::allocate.
double measure_link_rate(Device& device);

/// Returns the bytes per second of a triad (a = b + s * c) on all cores of this process. Written
/// lines count twice, because they are read first. Takes about 0.3 s and 192 MiB.
double measure_memory_rate();

}  // namespace ds
