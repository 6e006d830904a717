// Door: a rank's only listening socket. Every connection must prove the job key before anything
// else is read from it.
//
// A proven connection is a link of this rank's meshes (every rank) or a client of the key-value
// store (rank 0). A connection that does not prove the key within a few seconds is dropped and
// never delays another one; the number of unproven connections is capped. One thread runs one
// poll(2) loop. When the process ends, its visitors see their connections close.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/socket.h"
#include "engine/comm/mesh/store_table.h"
#include "engine/comm/mesh/visitor.h"

namespace ds::comm {

class Door {
 public:
  struct Limits {
    Clock::duration proof_time = std::chrono::seconds(5);
    std::size_t unproven = 64;  // when one more connects, the oldest is dropped
    std::size_t waiting_output = std::size_t{8}
                                 << 20;  // a visitor that does not read its answers is dropped
  };

  Door(UniqueFd listener, Household household)
      : Door(std::move(listener), std::move(household), Limits()) {}
  Door(UniqueFd listener, Household household, Limits limits);
  ~Door();
  Door(const Door&) = delete;

  [[nodiscard]] Endpoint endpoint() const { return endpoint_; }
  /// Returns true once a proven dialer has made the link `name`, and false when the deadline passes
  /// first.
  bool wait_for_link(const std::string& name, Deadline deadline);
  /// Returns the latest link of that name; invalid when there is none.
  UniqueFd take_link(const std::string& name);

 private:
  struct Guest {
    UniqueFd fd;
    Visitor visitor;
    Clock::time_point proven_by;
  };
  void run();
  void serve_once();
  void accept_all();
  void drop_latecomers();
  void read_from(std::uint64_t id, Guest& guest);
  void ask_store(std::uint64_t id, Guest& guest);
  void write_to(Guest& guest);
  void hand_over(Guest& guest);
  void clear_away();
  [[nodiscard]] int poll_time() const;

  const Household household_;
  const Limits limits_;
  const UniqueFd listener_;
  const Endpoint endpoint_;
  const UniqueFd stop_;
  StoreTable store_;
  std::map<std::uint64_t, Guest> guests_;  // in order of arrival
  std::uint64_t next_id_ = 1;
  bool accepting_ = true;  // false for a moment when no descriptors are left

  std::mutex mutex_;  // guards links_ only
  std::condition_variable arrived_;
  std::map<std::string, UniqueFd> links_;
  std::thread thread_;
};

}  // namespace ds::comm
