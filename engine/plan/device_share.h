// Who updates states that are kept in host memory: the host where they lie, or the device, for
// which they come and go.
#pragma once

#include <cstdint>

#include "engine/plan/rates.h"

namespace ds {

/// Percent of the tiles for the device, so that both sides end at the same time. A device's tile
/// moves 12 bytes a parameter each way over `pcie` and 24 through `host`'s memory; the host's moves
/// 28 there. 100 where a rate is not known. Pure.
std::int64_t device_share_of(const Rates& rates);

}  // namespace ds
