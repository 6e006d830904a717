// When to look for a name again that is not there yet. Pure.
#pragma once

#include <chrono>
#include <optional>

namespace ds::launcher {

/// The pause after the `looks`-th look that found nothing (counted from 1): looks are made 0, 0.5,
/// 1 and 2 s after the first, then every 5 s with a jitter of 20 %. A known negative TTL stretches
/// the early pauses to 5 s at most, since a look within it only reads the cache again, and places
/// the later ones just behind its end, where that lies within their jitter.
/// `random`: from 0 to 1.
std::chrono::milliseconds pause_before_next_look(int looks,
                                                 std::optional<std::chrono::seconds> negative_ttl,
                                                 double random);

}  // namespace ds::launcher
