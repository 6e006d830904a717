// One NCCL communicator, kept to its life (comm_life.h): non-blocking calls, polled; abort from any
// thread.
//
// NCCL allows one thread in a communicator at a time, ncclCommAbort included: every call is made
// with a lock held, and as no call blocks (config.blocking = 0), abort never waits for long.
// Between the looks at a call in progress the lock is free.
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
  /// Aborts what was not closed.
  ~Communicator() { abort(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Why something failed, for people; nothing when it did not.
  using Failure = std::optional<std::string>;

  /// Collective; the calling thread's device is the communicator's. A failure leaves it aborted.
  Failure start(const ncclUniqueId& id, int rank, int size, const std::string& name,
                Deadline deadline);
  /// `put` makes NCCL calls; returns when all of them are on their stream.
  Failure issue(FunctionRef<ncclResult_t(ncclComm_t)> put, Deadline deadline);
  /// What NCCL's own threads have found.
  Failure look();
  /// Collective. Ends it in good order if all members get there before the deadline; else aborts.
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
  std::string why_;   // it failed
  std::string name_;  // NCCL keeps the pointer
};

}  // namespace ds::comm
