// CoordinatorClient: what a rank asks the coordinator of rank 0, over a connection or, on rank 0
// itself, directly.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/collectives.h"
#include "engine/comm/mesh/coordinator.h"
#include "engine/comm/mesh/handshake.h"

namespace ds::comm {

/// Errors: every request throws Error{comm} when rank 0 is gone or does not answer in time. The
/// next one connects again. Threads: any; one request at a time, and rank 0 answers each at once.
class CoordinatorClient {
 public:
  explicit CoordinatorClient(std::shared_ptr<Coordinator> own) : own_(std::move(own)) {}
  /// Connects. Errors: as open_connection().
  CoordinatorClient(const Endpoint& master, Membership membership, Deadline deadline);

  struct Meeting {
    std::vector<std::string> cards;  // of all members, by place, when all have come
    std::vector<int> absent;         // ranks
  };
  /// Comes to a group with `card`; returns when all members have come, or at the deadline. `mesh`:
  /// the group's name, then "/" and what makes it unique in the job.
  Meeting meet(const std::string& mesh, const GroupSpec& spec, int place, std::string_view card,
               Deadline deadline);
  /// Says why this member gives the group up. Returns the first reason that any member gave.
  std::string report_fault(const std::string& mesh, const std::string& why, Deadline deadline);
  Findings report(int rank, const RankReport& report, Deadline deadline);

  /// The ends of the connection that was made first.
  [[nodiscard]] const Endpoint& rank_0() const { return rank_0_; }
  [[nodiscard]] const Endpoint& own_endpoint() const { return own_endpoint_; }

 private:
  std::string ask(ByteWriter& request, Deadline deadline);
  void connect(const Endpoint& to, Deadline deadline);

  const std::shared_ptr<Coordinator> own_;  // null on all ranks but rank 0
  const Membership membership_;
  Endpoint rank_0_, own_endpoint_;
  std::mutex mutex_;  // guards the connection
  UniqueFd fd_;
};

}  // namespace ds::comm
