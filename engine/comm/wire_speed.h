// WireSpeed: the speed that a wire simulates (slow_wire.h).
#pragma once

#include <optional>
#include <string_view>

#include "engine/base/deadline.h"

namespace ds {

struct WireSpeed {
  double bytes_per_second = 0;
  Clock::duration latency{};  // of every operation, besides its bytes
};

/// Parses "rate=200M,latency=1ms": bytes per second with binary prefixes, then us, ms or s. Both
/// parts are needed. Returns nothing for other text.
std::optional<WireSpeed> parse_wire_speed(std::string_view text);

}  // namespace ds
