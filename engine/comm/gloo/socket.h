// TCP sockets with deadlines on everything: listen, dial, exact reads and writes. No threads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds::comm {

/// A numeric address (IPv4 or IPv6) and a port.
struct Endpoint {
  std::string address;
  int port = 0;
  /// "127.0.0.1:29500", "[::1]:29500".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_loopback() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// The inverse of Endpoint::text(); nothing when `text` is not one.
std::optional<Endpoint> parse_endpoint(const std::string& text);

/// Listens with SO_REUSEADDR, so that a launcher may hold the port bound (not listening) until now.
/// `name` is numeric or a host name; an address this machine does not have, and a name other than
/// localhost, listen on every address: what a name means here need not be what it means to the
/// peers. Non-blocking. Errors: Error{comm} naming the address.
UniqueFd listen_on(const std::string& name, int port);

/// Dials until it answers or the deadline passes, with growing pauses. TCP_NODELAY, non-blocking.
/// Errors: Error{comm} with the last reason (names that do not resolve count as no answer yet).
UniqueFd dial(const std::string& name, int port, Deadline deadline);

Endpoint local_endpoint(int fd);
Endpoint peer_endpoint(int fd);

/// Makes the kernel notice a peer whose machine is gone while the connection is idle, in about half
/// a minute. No TCP_USER_TIMEOUT: it would end the connections of a job that Ctrl-Z has suspended
/// with data under way.
void watch_peer(int fd);

/// False when the deadline passed with nothing to read (an ended connection counts as readable).
bool wait_readable(int fd, Deadline deadline);

enum class IoResult { done, closed, late };
/// Closed: the peer ended the connection, or the kernel reports an error on it.
IoResult read_exactly(int fd, std::span<std::byte> into, Deadline deadline);
IoResult write_all(int fd, std::span<const std::byte> data, Deadline deadline);

}  // namespace ds::comm
