// Acceptor: a rank's only listening socket. Every connection must prove the job key before anything
// else is read from it (handshake.h).
//
// A proven connection is a link of this rank's meshes (every rank) or a client of the coordinator
// (rank 0). A connection that does not prove the key within a few seconds is dropped and never
// delays another one; the number of unproven connections is capped. One thread runs one poll(2)
// loop. When the process ends, its peers see their connections close.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/handshake.h"

namespace ds::comm {

/// A request or answer on a connection of the coordinator is a text of ByteWriter (bytes.h).
inline constexpr std::size_t kMostRequestBytes = std::size_t{1} << 20;

struct AcceptorLimits {
  Clock::duration proof_time = std::chrono::seconds(5);
  std::size_t unproven = 64;  // when one more connects, the oldest is dropped
  std::size_t waiting_output = std::size_t{8} << 20;  // a client that does not read is dropped
};

class Acceptor {
 public:
  /// Answers a request; returns nothing when the request is malformed. Called on the thread.
  using Serve = std::function<std::optional<std::string>(std::string_view request)>;

  /// `serve`: empty on all ranks but rank 0.
  Acceptor(UniqueFd listener, Membership membership, Serve serve = {}, AcceptorLimits limits = {});
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;

  [[nodiscard]] Endpoint endpoint() const { return endpoint_; }
  /// Returns true once a proven dialer has made the link `name`, and false when the deadline passes
  /// first.
  bool wait_for_link(const std::string& name, Deadline deadline);
  /// Returns the latest link of that name; invalid when there is none.
  UniqueFd take_link(const std::string& name);

 private:
  struct Guest {
    UniqueFd fd;
    Handshake handshake;
    Clock::time_point proven_by;
    std::vector<std::byte> input{}, output{};
    std::size_t wanted = sizeof(Hello);  // bytes of the message that is being read
    [[nodiscard]] bool proven() const { return handshake.stage() == Handshake::Stage::accepted; }
    [[nodiscard]] bool is_over() const;
  };
  void run();
  void accept_all();
  void drop_latecomers();
  void read_from(Guest& guest);
  void take_message(Guest& guest);
  void answer(Guest& guest);
  void write_to(Guest& guest);
  void hand_over(Guest& guest);

  const Membership membership_;
  const Serve serve_;
  const AcceptorLimits limits_;
  const UniqueFd listener_;
  const Endpoint endpoint_;
  const UniqueFd stop_;
  std::list<Guest> guests_;  // in order of arrival
  bool accepting_ = true;    // false for a moment when no descriptors are left
  bool told_ = false;

  std::mutex mutex_;  // guards links_ only
  std::condition_variable arrived_;
  std::map<std::string, UniqueFd> links_;
  std::thread thread_;
};

}  // namespace ds::comm
