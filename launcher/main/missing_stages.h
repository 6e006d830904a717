// How far the nodes are that a root waits for, by what DNS knows of them.
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
  /// At most so many names are looked up at once: their lines are for people.
  static constexpr std::size_t kMost = 64;

  /// `dial_of`: the name of a place as DNS has it.
  MissingStages(asio::io_context& io, std::function<std::string(const std::string&)> dial_of);
  /// Looks the places up, the first kMost of them; what is found replaces what was known.
  void look(const std::vector<std::string>& places);
  /// "no DNS record (NXDOMAIN from 10.96.0.10)", "has a DNS record, but has not joined"; empty:
  /// not known yet.
  [[nodiscard]] std::string stage_of(const std::string& place) const;

 private:
  std::function<std::string(const std::string&)> dial_of_;
  std::map<std::string, std::string> stages_;
  DnsLookup dns_;
};

}  // namespace ds::launcher
