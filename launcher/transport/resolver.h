// Looks up the addresses of ssh hosts by getaddrinfo, on helper threads because it blocks.
//
// It does not use c-ares (launcher/dns), because hosts that users name may be known only to a
// source of nsswitch.conf: LDAP or NIS on clusters, mDNS, the container's myhostname. ssh and pdsh
// find such hosts, so dslaunch must find them too. c-ares knows the hosts file and DNS alone.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ds::launcher {

struct Resolved {
  std::vector<asio::ip::tcp::endpoint> addresses;
  std::string problem;  // set if there are no addresses
};

/// Threads: results arrive on the io_context's thread, never from inside `resolve`. At most
///          `threads` helpers run. A lookup that hangs holds one of them, but not the destructor.
///          The caller keeps the deadline.
class Resolver {
 public:
  Resolver(asio::io_context& io, int threads);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  void resolve(const std::string& host, int port, std::function<void(Resolved)> done);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  int max_threads_;
};

}  // namespace ds::launcher
