// How fast this machine's memory is.
#pragma once

#include "engine/device/device.h"

namespace ds {

/// Bytes a second that cross from the host's pinned memory to the device and, at the same time,
/// back; of the slower way. Takes about 0.1 s and 64 MiB on both sides. Errors: as
/// Device::allocate.
double measure_link_rate(Device& device);

/// Bytes a second of a triad (a = b + s * c) by all cores of this process, written lines counted
/// twice, as they are read first. Takes about 0.3 s and 192 MiB.
double measure_memory_rate();

}  // namespace ds
