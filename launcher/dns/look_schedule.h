// Schedule of repeated lookups of a name that has no DNS record yet. Pure.
#pragma once

#include <chrono>
#include <optional>

namespace ds::launcher {

/// Returns the pause after the `looks`-th lookup that found nothing (counted from 1). Lookups are
/// made 0, 0.5, 1 and 2 s after the first one, then every 5 s with a jitter of 20 %. A known
/// negative TTL stretches the early pauses, to 5 s at most, since a lookup within it only reads the
/// cache again. Later lookups are placed just after its end where that lies within their jitter.
/// `random`: from 0 to 1.
std::chrono::milliseconds pause_before_next_look(int looks,
                                                 std::optional<std::chrono::seconds> negative_ttl,
                                                 double random);

}  // namespace ds::launcher
