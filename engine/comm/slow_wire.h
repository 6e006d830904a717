// SlowWire: simulates a wire slower than the real one: operations sleep first. For measuring what
// overlap hides when all ranks run on one machine.
#pragma once

#include <mutex>
#include <optional>
#include <string_view>

#include "engine/base/deadline.h"

namespace ds {

struct WireSpeed {
  double bytes_per_second = 0;
  Clock::duration latency{};  // of every operation, besides its bytes
};

/// Parses "rate=200M,latency=1ms" (DSLAUNCH_TEST_WIRE): bytes per second with binary prefixes.
/// Returns nothing for other text.
std::optional<WireSpeed> parse_wire_speed(std::string_view text);

/// The network interface of one process, which carries both directions at once and uses no CPU
/// time. Threads: any.
class SlowWire {
 public:
  explicit SlowWire(const WireSpeed& speed) : speed_(speed) {}
  /// Returns when the bytes have passed, after those that came before.
  void carry(std::size_t bytes);

 private:
  const WireSpeed speed_;
  std::mutex mutex_;
  Clock::time_point free_at_{};
};

}  // namespace ds
