// Knocks: how a root shows the nodes that still miss it where it is, and how a worker with an sshd
// shows its launcher. After a restart, caches of DNS may give them the old address, or none, for
// half a minute.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "launcher/dns/dns_lookup.h"
#include "launcher/transport/connector.h"

namespace ds::launcher {

/// The root's side. A knock is a connection to a node's port that is closed at once: its sender's
/// address is all that it says.
/// Threads: the io_context's. Destroying the object ends all knocks and silences `told`.
class Knocker {
 public:
  Knocker(asio::io_context& io, std::uint16_t port) : io_(io), port_(port), names_(io) {}
  /// Looks up `name`, whose result goes to `told`, and knocks there.
  void knock(const std::string& name, std::function<void(const DnsResult&)> told);

 private:
  asio::io_context& io_;
  std::uint16_t port_;
  std::map<std::string, std::unique_ptr<ConnectAttempt>> attempts_;  // by name
  DnsLookup names_;
};

/// The other side: listens on its own address. A knock is only a hint: its sender is dialed, and
/// both prove themselves as ever. Without a free port nothing is heard.
/// Threads: the io_context's.
class KnockListener {
 public:
  /// Gets the numeric address of the sender, and what it wrote before it closed the connection: a
  /// root nothing, a worker its host name.
  using Heard = std::function<void(const std::string& address, const std::string& name)>;
  /// `address`: numeric.
  KnockListener(asio::io_context& io, const std::string& address, std::uint16_t port, Heard heard);

 private:
  struct Knock;
  void listen();

  asio::ip::tcp::acceptor acceptor_;
  std::shared_ptr<Heard> heard_;  // dies with this object
};

}  // namespace ds::launcher
