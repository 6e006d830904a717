// MeshGroup::Operation: one operation of a group. Posts messages, moves bytes until they are done,
// or says which peer is at fault.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/mesh/countdown.h"
#include "engine/comm/mesh/mesh_group.h"

namespace ds::comm {

class MeshGroup::Operation {
 public:
  /// Errors: Error{comm} when the group failed or was aborted before. `bytes`: what all members
  /// know of the sizes.
  Operation(MeshGroup& group, std::string_view name, Deadline deadline, std::uint64_t bytes = 0);
  ~Operation();
  Operation(const Operation&) = delete;

  /// Zero bytes post nothing: both ends know the size.
  void receive(int from, std::span<std::byte> into);
  void send(int to, std::span<const std::byte> data);
  /// Returns when the newest message has arrived or left.
  void finish_newest();
  /// Returns when every posted message has arrived or has left (its memory may be reused).
  void finish();

 private:
  void post(int peer, bool outgoing, std::span<std::byte> data);
  void drive(const std::function<bool()>& is_done);
  void move();
  void wait(int milliseconds);
  void set_runnable(int peer);
  [[noreturn]] void fail_of_lateness();
  [[nodiscard]] std::string message_of(std::string_view what) const;
  [[noreturn]] void fail(std::string_view what);
  [[noreturn]] void fail_of_peer(int peer);
  [[nodiscard]] std::string missing_peers() const;

  MeshGroup& group_;
  const std::string_view name_;
  std::uint64_t slot_ = 0;  // of all its messages
  const Clock::time_point begun_ = Clock::now();
  int busy_ = 0;                         // links that are not idle
  std::size_t sent_ = 0, received_ = 0;  // bytes of the messages that were posted
  Countdown countdown_;
};

}  // namespace ds::comm
