// State of missing nodes in DNS, for the lines that a waiting root prints.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "launcher/dns/dns_lookup.h"

namespace ds::launcher {

/// Threads: the io_context's only.
class MissingStages {
 public:
  /// Maximum number of names looked up at once; more would not fit into a readable line.
  static constexpr std::size_t kMost = 64;

  /// `dial_of` returns the DNS name of a place.
  MissingStages(asio::io_context& io, std::function<std::string(const std::string&)> dial_of);
  /// Starts lookups of the first kMost places. Each result replaces the former one.
  void look(const std::vector<std::string>& places);
  /// Returns "no DNS record (NXDOMAIN from 10.96.0.10)" or "has a DNS record, but has not joined";
  /// empty if not known yet.
  [[nodiscard]] std::string stage_of(const std::string& place) const;

 private:
  std::function<std::string(const std::string&)> dial_of_;
  std::map<std::string, std::string> stages_;
  DnsLookup dns_;
};

}  // namespace ds::launcher
