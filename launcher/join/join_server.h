// The root's side of a join: the nodes that have dialed in, and a transport to their agents.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/join/join_key.h"
#include "launcher/join/join_records.h"
#include "launcher/transport/transport.h"

namespace ds::launcher {

/// A node that has proven the key and sent its hello.
struct JoinedNode {
  JoinHello hello;
  std::string address;  // numeric address that it dialed from
};

struct JoinServerOptions {
  JoinKey key;
  std::string job;                  // of JoinHello; a node of another job is refused and may retry
  std::vector<std::string> places;  // hosts that may join
  std::uint16_t port = 0;           // 0: any free port
  std::string bind_address;         // numeric; empty: all addresses, IPv4 and IPv6
  std::chrono::milliseconds silence{
      8000};  // after which a waiting node is lost; also TCP_USER_TIMEOUT
};

struct JoinServerEvents {
  std::function<void(const JoinedNode&)> on_joined;
  /// The connection of a node broke while no agent ran there.
  std::function<void(const std::string& place, const std::string& why)> on_left;
  std::function<void(const std::string& place, int signo)> on_leaving;
  /// One line for users: a stranger, a wrong key, two nodes that claim one place.
  std::function<void(const std::string& text)> on_say;
};

/// Listens from its construction on. A place has one node: the newer one (JoinHello::started)
/// stays, the older one is fenced. Threads: the io_context's; events never come from inside a call.
class JoinServer {
 public:
  /// Errors:  Error{system}: the port cannot be bound; the message names the likely holder.
  JoinServer(asio::io_context& io, JoinServerOptions options, JoinServerEvents events);
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Returns the node that fills a place; null if there is none.
  [[nodiscard]] const JoinedNode* node(const std::string& place) const;
  /// Returns a transport whose channel to host H begins when the place H.name is filled. The server
  /// must outlive it.
  [[nodiscard]] Transport& transport();
  /// Sends a progress message to every connected node.
  void tell(const std::string& news);
  /// Sends the end of the job to every node; calls `done` when all have it, or after 2 s.
  void finish(const JoinOver& over, std::function<void()> done);

 private:
  class Impl;
  class Joins;
  std::shared_ptr<Impl> impl_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace ds::launcher
