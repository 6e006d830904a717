// Names -> addresses by DNS queries of our own, asynchronously: what is not there yet is said with
// its reason.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/dns/dns_problem.h"

namespace ds::launcher {

struct DnsResult {
  std::vector<asio::ip::address> addresses;  // IPv4 before IPv6, each once; none: see `problem`
  DnsProblem problem = DnsProblem::none;
  std::string text;  // for people: "no DNS record (NXDOMAIN from 10.96.0.10)"
  /// How long caches keep the answer "no record" (RFC 2308): a look before that asks them in vain.
  std::optional<std::chrono::seconds> negative_ttl;
  int queries = 0;  // sent, repetitions included
};

struct DnsOptions {
  std::string resolv_conf = "/etc/resolv.conf";
  std::string hosts_file = "/etc/hosts";
  std::string nsswitch = "/etc/nsswitch.conf";
  std::uint16_t port = 53;
  std::chrono::milliseconds limit{5000};  // of one look_up
};

/// Numeric addresses and names of /etc/hosts are answered without a query; other names are asked
/// of every name server of resolv.conf, A and AAAA at once, by docs/dns.md. Without a name server,
/// and for names that DNS does not have where nsswitch.conf names further sources, getaddrinfo
/// answers. The files are read again by every look_up.
/// Threads: the io_context's only. `done` comes once, never from inside look_up; destroying the
///          object ends what is under way and silences it.
class DnsLookup {
 public:
  explicit DnsLookup(asio::io_context& io, DnsOptions options = {});
  ~DnsLookup();
  DnsLookup(const DnsLookup&) = delete;
  DnsLookup& operator=(const DnsLookup&) = delete;
  /// Any number at once.
  void look_up(const std::string& name, std::function<void(DnsResult)> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ds::launcher
