// Communicator: one NCCL communicator, polled instead of blocking; any thread may abort it.
//
//   none -> busy <-> ready -> gone        busy: starting, issuing or closing
//           any -> failed -> gone         failed: only ncclCommAbort is left
//
// NCCL leaves wrong calls undefined: an operation while one is in progress is refused, a call after
// ncclCommAbort or ncclCommDestroy reads freed memory, ncclCommFinalize after an error hangs. NCCL
// allows one thread at a time in a communicator, also for ncclCommAbort. So every call is made with
// a lock held and in a state that allows it. No call blocks (config.blocking = 0), so abort never
// waits for long. The lock is free between the polls of a call in progress.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/function_ref.h"
#include "engine/comm/nccl/api.h"

namespace ds::comm {

/// Formats as "unhandled system error (NCCL says: no route to host)".
std::string error_text(const NcclApi& api, ncclComm_t comm, ncclResult_t code);

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

  enum class State : std::uint8_t { none, busy, ready, failed, gone };
  [[nodiscard]] State state() const;

 private:
  // With mutex_ held:
  Failure poll();
  Failure take(ncclResult_t code);
  Failure settle(std::unique_lock<std::mutex>& lock, Deadline deadline);
  [[nodiscard]] Failure refusal() const;

  const NcclApi& api_;
  mutable std::mutex mutex_;
  State state_ = State::none;
  ncclComm_t comm_ = nullptr;
  const char* doing_ = "";  // what it is busy with
  std::string why_;         // why it failed
  std::string name_;        // NCCL keeps the pointer
};

}  // namespace ds::comm
