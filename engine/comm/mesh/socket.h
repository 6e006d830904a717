// TCP sockets with deadlines on everything: listen, dial, exact reads and writes. No threads.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds::comm {

/// An address (IPv4 or IPv6) or host name, and a port.
struct Endpoint {
  std::string address;
  int port = 0;
  /// Formats as "127.0.0.1:29500" or "[::1]:29500".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_loopback() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Listens with SO_REUSEADDR, so that a launcher may hold the port bound (not listening) until now.
/// An address that this machine does not have, and any name but localhost, listen on every address:
/// a name may resolve differently here and at the peers.
/// Non-blocking. Errors: Error{comm} naming the address.
UniqueFd listen_on(const Endpoint& at);

/// Dials with growing pauses until the peer answers or the deadline passes. TCP_NODELAY,
/// non-blocking. Errors: Error{comm} with the last reason. A name that does not resolve counts as
/// no answer yet.
UniqueFd dial(const Endpoint& to, Deadline deadline);

Endpoint local_endpoint(int fd);
Endpoint peer_endpoint(int fd);

/// Makes the kernel notice within about 30 s that the machine of an idle connection's peer is gone.
/// Does not use TCP_USER_TIMEOUT, which would end the connections of a job that Ctrl-Z suspended
/// with data under way.
void watch_peer(int fd);

enum class IoResult { done, closed, late };
/// `closed`: the peer ended the connection, or the kernel reports an error on it.
IoResult read_exactly(int fd, std::span<std::byte> into, Deadline deadline);
IoResult write_all(int fd, std::span<const std::byte> data, Deadline deadline);

}  // namespace ds::comm
