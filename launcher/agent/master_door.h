// Holds a port for MASTER_PORT, and answers on it for the test of MASTER_ADDR (docs/master.md).
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct HeldPort {
  UniqueFd socket;
  std::uint16_t port = 0;  // 0: none could be bound
  int problem = 0;         // errno, if none could be bound
};
/// Binds a port with SO_REUSEADDR and does not listen: a framework's own store can still bind it,
/// while the system gives it to no other program. `wanted` 0: any free port.
HeldPort hold_port(std::uint16_t wanted);

/// Returns a non-blocking socket that listens on a held port, at all addresses of this node; empty
/// if the system refuses.
UniqueFd listen_beside(const HeldPort& held);

/// The listening side of the test of MASTER_ADDR, open from Ready to Go. A peer that sends the
/// question gets the answer; any other peer gets nothing.
/// Promise: never blocks; serves at most kMostPeers at once, each for at most kPeerLimit; leaves no
///          connection on the port after close().
/// Threads: one.
class MasterDoor {
 public:
  static constexpr std::size_t kMostPeers = 128;
  static constexpr std::chrono::seconds kPeerLimit{2};

  MasterDoor() = default;
  MasterDoor(const MasterDoor&) = delete;
  MasterDoor& operator=(const MasterDoor&) = delete;
  ~MasterDoor() { close(); }

  /// Opens nothing if the system refuses to listen: then no node reaches this one.
  void open(const HeldPort& held, std::string question, std::string answer);
  void close();

  /// Returns a descriptor that is readable when turn() has work; -1: closed.
  [[nodiscard]] int fd() const { return events_.get(); }
  [[nodiscard]] Clock::time_point wake_at() const;
  void turn(Clock::time_point now);

 private:
  struct Peer {
    UniqueFd socket;
    Clock::time_point until;
    std::string said{};
    bool answered = false;
  };
  using Peers = std::list<Peer>;

  void accept_some(Clock::time_point now);
  void accept_when_due(Clock::time_point now);
  [[nodiscard]] bool hear(Peer& peer) const;
  void drop(Peers::iterator peer);
  Peers::iterator find(int fd);

  UniqueFd events_;
  UniqueFd listener_;
  bool accepting_ = false;
  Clock::time_point accept_after_{};  // after accept() ran out of descriptors
  std::string question_, answer_;
  Peers peers_;  // oldest first
};

/// Compares in constant time.
[[nodiscard]] bool same_secret(const std::string& secret, const std::string& said);

}  // namespace ds::launcher
