// Result of a name lookup: addresses, or the kind and the text of the problem.
#pragma once

#include <asio/ip/address.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ds::launcher {

/// While a job starts, every kind but `none` means "not yet".
enum class DnsProblem {
  none,
  no_record,      // NXDOMAIN, or the name exists without an address
  server_failed,  // SERVFAIL, REFUSED and other error codes
  no_answer       // no name server answered in time
};

struct DnsResult {
  std::vector<asio::ip::address> addresses{};  // IPv4 before IPv6, each once; none: see `problem`
  DnsProblem problem = DnsProblem::none;
  std::string text{};  // for people: "no DNS record (NXDOMAIN from 10.96.0.10)"
  /// How long caches keep the answer "no record" (RFC 2308). A lookup before that reads the same
  /// answer from the cache.
  std::optional<std::chrono::seconds> negative_ttl{};
};

}  // namespace ds::launcher
