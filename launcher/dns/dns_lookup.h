// Asynchronous name lookups by c-ares, which say why a name has no address yet.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "launcher/dns/lookup_state.h"

namespace ds::launcher {

class Resolver;

struct DnsOptions {
  std::string resolv_conf = "/etc/resolv.conf";
  std::string nsswitch = "/etc/nsswitch.conf";
  std::uint16_t port = 53;
  std::chrono::milliseconds limit{5000};  // of one lookup
};

/// Numeric addresses and names of the hosts file are answered without a query. Other names are
/// asked of the name servers as docs/dns.md says. Where nsswitch.conf names further sources,
/// getaddrinfo is asked for names that DNS does not have. The files are read again by every lookup.
/// Threads: the io_context's only. `done` comes once, never from inside look_up. Destroying the
///          object ends all lookups under way and silences their callbacks.
class DnsLookup {
 public:
  explicit DnsLookup(asio::io_context& io, DnsOptions options = {});
  ~DnsLookup();
  DnsLookup(const DnsLookup&) = delete;
  DnsLookup& operator=(const DnsLookup&) = delete;
  /// Begins a lookup; any number may be under way.
  void look_up(const std::string& name, std::function<void(DnsResult)> done);

 private:
  struct Look;  // one lookup under way
  using LookPtr = std::shared_ptr<Look>;

  void finish(const LookPtr& look, DnsResult result);
  void ask(const LookPtr& look);
  void on_answer(const LookPtr& look, std::size_t type, DnsAnswer answer);
  void settle(const LookPtr& look);
  void wait_until(const LookPtr& look, Clock::time_point when);
  void ask_library(const LookPtr& look);

  asio::io_context& io_;
  DnsOptions options_;
  std::list<LookPtr> looks_;  // the only owner
  std::unique_ptr<Resolver> resolver_;
};

}  // namespace ds::launcher
