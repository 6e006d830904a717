// device_share_of(): divides updates of states in host memory between the host, in place, and the
// device, which copies them in and out.
#pragma once

#include <cstdint>

#include "engine/plan/rates.h"

namespace ds {

/// Returns the percentage of tiles for the device at which both sides end at the same time. A tile
/// on the device moves 12 bytes per parameter each way over `pcie` and 24 through `host`'s memory;
/// a tile on the host moves 28 there. 100 where a rate is unknown. Pure.
std::int64_t device_share_of(const Rates& rates);

}  // namespace ds
