// Negative TTL of a DNS answer (RFC 2308), which c-ares does not report. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>

namespace ds::launcher {

/// Returns how long caches keep this answer when it says that a record does not exist: the smaller
/// of the TTL and the MINIMUM of the SOA record in the authority section. Empty without such a
/// record, and for a malformed message.
std::optional<std::chrono::seconds> negative_ttl(std::span<const unsigned char> message);

}  // namespace ds::launcher
