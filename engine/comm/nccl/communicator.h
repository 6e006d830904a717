// Communicator: one NCCL communicator, kept to its life (comm_life.h). Calls are non-blocking and
// polled; any thread may abort.
//
// NCCL allows one thread at a time in a communicator, also for ncclCommAbort. Every call is made
// with a lock held. No call blocks (config.blocking = 0), so abort never waits for long. The lock
// is free between the polls of a call in progress.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/function_ref.h"
#include "engine/comm/nccl/api.h"
#include "engine/comm/nccl/comm_life.h"

namespace ds::comm {

class Communicator {
 public:
  explicit Communicator(const NcclApi& api) : api_(api) {}
  /// Aborts a communicator that was not closed.
  ~Communicator() { abort(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// The reason of a failure, for messages; nothing on success.
  using Failure = std::optional<std::string>;

  /// Creates the communicator on the calling thread's device. Collective. A failure leaves it
  /// aborted.
  Failure start(const ncclUniqueId& id, int rank, int size, const std::string& name,
                Deadline deadline);
  /// Runs `put`, which makes NCCL calls; returns when all of them are on their stream.
  Failure issue(FunctionRef<ncclResult_t(ncclComm_t)> put, Deadline deadline);
  /// Returns the error that NCCL's own threads have found, if any.
  Failure look();
  /// Ends the communicator properly if all members arrive before the deadline; aborts it otherwise.
  /// Collective.
  void close(Deadline deadline);
  void abort();

  [[nodiscard]] CommState state() const;

 private:
  Failure settle(std::unique_lock<std::mutex>& lock, Deadline deadline);
  Failure take(CommCall call, ncclResult_t code);  // with mutex_ held
  [[nodiscard]] Failure refusal() const;           // with mutex_ held

  const NcclApi& api_;
  mutable std::mutex mutex_;
  CommState state_ = CommState::created;
  ncclComm_t comm_ = nullptr;
  std::string why_;   // why it failed
  std::string name_;  // NCCL keeps the pointer
};

}  // namespace ds::comm
