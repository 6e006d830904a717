// The root's side of agents that dial in: who is here, and a transport whose channels they carry.
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

/// One node that has proven the key and said who it is.
struct JoinedNode {
  JoinHello hello;
  std::string address;  // numeric, from where it dialled
};

struct JoinServerOptions {
  JoinKey key;
  std::string job;                  // of JoinHello; another one is refused, to be dialled again
  std::vector<std::string> places;  // the hosts that may join
  std::uint16_t port = 0;           // 0: any free one
  std::string bind_address;         // numeric; empty: all addresses, IPv4 and IPv6
  std::chrono::milliseconds silence{
      8000};  // of a waiting node: it is lost; of TCP: TCP_USER_TIMEOUT
};

struct JoinServerEvents {
  std::function<void(const JoinedNode&)> on_joined;
  /// Its connection is gone while no agent ran there, or a newer one took its place.
  std::function<void(const std::string& place, const std::string& why)> on_left;
  std::function<void(const std::string& place, int signo)> on_leaving;
  /// One line for people: a stranger, a wrong key, two nodes with one place.
  std::function<void(const std::string& text)> on_say;
};

/// Listens from its construction on. One place has one node: of two the newer one
/// (JoinHello::started) stays, the older is fenced. Threads: the io_context's only; events never
/// come from inside a call.
class JoinServer {
 public:
  /// Errors:  Error{system}: the port cannot be bound, with who may hold it.
  JoinServer(asio::io_context& io, JoinServerOptions options, JoinServerEvents events);
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Null while nobody fills that place.
  [[nodiscard]] const JoinedNode* node(const std::string& place) const;
  /// A channel to host H begins when the place H.name is filled. Lives no longer than the server.
  [[nodiscard]] Transport& transport();
  /// To every node that waits: how far we are.
  void tell(const std::string& news);
  /// Tells every node the end; `done` when all have it, or 2 s later.
  void finish(const JoinOver& over, std::function<void()> done);

 private:
  class Impl;
  class Joins;
  std::shared_ptr<Impl> impl_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace ds::launcher
