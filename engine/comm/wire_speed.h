// How fast a wire pretends to be (slow_wire.h).
#pragma once

#include <optional>
#include <string_view>

#include "engine/base/deadline.h"

namespace ds {

struct WireSpeed {
  double bytes_per_second = 0;
  Clock::duration latency{};  // of every operation, besides its bytes
};

/// "rate=200M,latency=1ms": bytes a second with binary prefixes; us, ms or s. Both are needed.
/// Nothing: something else.
std::optional<WireSpeed> parse_wire_speed(std::string_view text);

}  // namespace ds
