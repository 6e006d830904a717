// Policy of one lookup: which name to ask of which server next, what answers say, the result. Pure.
#pragma once

#include <asio/ip/address.hpp>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/deadline.h"

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

/// Returns the result with these addresses: IPv4 first, each once.
DnsResult found_addresses(std::vector<asio::ip::address> addresses);

/// Answer to one query, of type A or AAAA.
struct DnsAnswer {
  enum class Kind {
    addresses,
    no_address,  // the name exists, without an address of this type
    no_name,     // NXDOMAIN: true of both types
    bad_name,    // not a domain name, so it was not asked for
    failed,      // an error code, `detail` is its name
    silent       // no answer, `detail` is why: "within 3 s"
  };
  Kind kind = Kind::silent;
  std::vector<asio::ip::address> addresses{};
  std::string detail{};
  std::optional<std::chrono::seconds> negative_ttl{};
};

/// Returns how long caches keep this answer when it says that a record does not exist: the smaller
/// of the TTL and the MINIMUM of the SOA record in the authority section. Empty without such a
/// record, and for a malformed message.
std::optional<std::chrono::seconds> negative_ttl(std::span<const unsigned char> message);

/// Returns "within 1.5 s".
std::string within_text(Clock::duration waited);

/// Asks the first server for A and AAAA of the first name. Without an address it goes on to the
/// next name. A server that fails or is silent is replaced by the next one, which then stays in use
/// for the other names. A name that no server answers ends the lookup, as no other name would fare
/// better.
class LookupState {
 public:
  /// `names` and `servers` have at least one element each.
  LookupState(std::vector<std::string> names, std::vector<std::string> servers);
  /// The name to ask for, and of which server, while there is no end().
  [[nodiscard]] const std::string& name() const { return names_[name_]; }
  [[nodiscard]] const std::string& server() const { return servers_[server_]; }
  /// Takes the two answers. `over`: the time for this lookup is over, ask nothing more.
  void on_answers(const DnsAnswer& v4, const DnsAnswer& v6, bool over = false);
  [[nodiscard]] const std::optional<DnsResult>& end() const { return end_; }

 private:
  void fail();

  std::vector<std::string> names_;
  std::vector<std::string> servers_;
  std::vector<DnsResult> problems_;  // one for each name that was asked for
  std::optional<DnsResult> end_;
  DnsResult trouble_;  // of the servers that failed for the present name
  std::size_t name_ = 0;
  std::size_t server_ = 0;
  std::size_t tried_ = 0;  // servers, for the present name
};

}  // namespace ds::launcher
