// The listening side of the test of MASTER_ADDR: node 0's agent shows that it is reached.
#pragma once

#include <list>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/agent/held_port.h"

namespace ds::launcher {

/// From Ready until Go. Who sends the question gets the answer; anybody else gets nothing.
/// Promise: never blocks; at most kMostPeers at once, each for at most kPeerLimit; no connection of
///          it is left on the port after close().
/// Threads: one.
class MasterDoor {
 public:
  static constexpr std::size_t kMostPeers = 128;
  static constexpr std::chrono::seconds kPeerLimit{2};

  MasterDoor() = default;
  MasterDoor(const MasterDoor&) = delete;
  MasterDoor& operator=(const MasterDoor&) = delete;
  ~MasterDoor() { close(); }

  /// Where the system does not let us listen there is no door: nobody will reach it.
  void open(const HeldPort& held, std::string question, std::string answer);
  void close();

  /// Readable when turn() has something to do; -1: closed.
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
  Clock::time_point accept_after_{};  // when the system had no descriptor left
  std::string question_, answer_;
  Peers peers_;  // the oldest first
};

/// The same time for any two texts of the length of `secret`.
[[nodiscard]] bool same_secret(const std::string& secret, const std::string& said);

}  // namespace ds::launcher
