// Holds a port for MASTER_PORT, and tests which addresses of node 0 reach it (docs/master.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

struct HeldPort {
  UniqueFd socket;
  std::uint16_t port = 0;  // 0: none could be bound
  int problem = 0;         // errno, if none could be bound
};
/// Binds a port with SO_REUSEADDR and does not listen: a framework's own store can still bind it,
/// while the system gives it to no other program. `wanted` 0: any free port.
HeldPort hold_port(std::uint16_t wanted);

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
  using Peers = std::map<std::uint32_t, Peer>;  // by number: oldest first
  static constexpr std::uint32_t kListener = 0;

  void accept_some(Clock::time_point now);
  [[nodiscard]] bool hear(Peer& peer) const;
  void drop(Peers::iterator peer);

  UniqueFd events_;
  UniqueFd listener_;
  bool accepting_ = false;
  Clock::time_point accept_after_{};  // after accept() ran out of descriptors
  std::string question_, answer_;
  Peers peers_;
  std::uint32_t last_peer_ = kListener;
};

/// Dials all addresses of a Probe at the same time.
/// Promise: never blocks; every address has a result when the limit of the Probe ends. An answer
///          that arrived before counts, even if this process reads it late.
/// Threads: one.
class MasterProbe {
 public:
  static constexpr std::size_t kMostAddresses = 64;

  /// Starts a Probe and drops an earlier one.
  void start(const Probe& probe, Clock::time_point now);
  void stop();

  /// Returns a descriptor that is readable when turn() has work; -1: no Probe runs.
  [[nodiscard]] int fd() const { return events_.get(); }
  [[nodiscard]] Clock::time_point wake_at() const { return due_; }
  /// Returns the results that are new since the last call.
  std::vector<Probed::Result> turn(Clock::time_point now);
  [[nodiscard]] std::uint32_t search() const { return probe_.search; }

 private:
  struct Attempt {
    std::uint16_t index = 0;
    UniqueFd socket{};
    bool asked = false;
    bool settled = false;
    std::string heard{};
  };

  void dial(Attempt& attempt);
  void ask(Attempt& attempt);
  void hear(Attempt& attempt);
  void settle(Attempt& attempt, std::string problem);

  Probe probe_;
  UniqueFd events_;
  std::vector<Attempt> attempts_;
  std::vector<Probed::Result> results_;
  Clock::time_point due_ = Clock::time_point::max();
};

}  // namespace ds::launcher
