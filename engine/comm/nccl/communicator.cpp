// Communicator: NCCL calls under the lock, and the wait for those in progress.
#include "engine/comm/nccl/communicator.h"

#include <chrono>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/nccl/texts.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

// Most calls finish within microseconds: NCCL runs each in a thread that it starts for it.
constexpr Clock::duration kEager = 300us;
constexpr Clock::duration kLookEvery = 100us;

CommResult result_of(ncclResult_t code) {
  if (code == ncclSuccess) return CommResult::done;
  return code == ncclInProgress ? CommResult::in_progress : CommResult::error;
}

bool is_in_progress(CommState state) {
  return state == CommState::starting || state == CommState::issuing || state == CommState::closing;
}

}  // namespace

CommState Communicator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Communicator::Failure Communicator::refusal() const {
  if (state_ == CommState::failed || state_ == CommState::aborted)
    return why_.empty() ? "the group was aborted" : why_;
  return fmt::format("the communicator is {}", name_of(state_));
}

Communicator::Failure Communicator::take(CommCall call, ncclResult_t code) {
  const std::optional<CommState> next = next_state(state_, call, result_of(code));
  DS_ASSERT(next.has_value(), "the state of the communicator forbids this call");
  state_ = *next;
  if (state_ != CommState::failed) return std::nullopt;
  why_ = error_text(api_, comm_, code);
  return why_;
}

Communicator::Failure Communicator::start(const ncclUniqueId& id, int rank, int size,
                                          const std::string& name, Deadline deadline) {
  Failure failure;
  {
    std::unique_lock lock(mutex_);
    if (!is_allowed(state_, CommCall::start)) return refusal();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    name_ = name;
    config.commName = name_.c_str();
    failure = take(CommCall::start, api_.comm_init_rank_config(&comm_, size, id, rank, &config));
    if (!failure) failure = settle(lock, deadline);
  }
  if (failure) abort();
  return failure;
}

Communicator::Failure Communicator::issue(FunctionRef<ncclResult_t(ncclComm_t)> put,
                                          Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!is_allowed(state_, CommCall::issue)) return refusal();
  Failure failure = take(CommCall::issue, put(comm_));
  return failure ? failure : settle(lock, deadline);
}

Communicator::Failure Communicator::look() {
  const std::lock_guard lock(mutex_);
  if (!is_allowed(state_, CommCall::look)) return std::nullopt;
  ncclResult_t news = ncclSuccess;
  const ncclResult_t code = api_.comm_get_async_error(comm_, &news);
  return take(CommCall::look, code == ncclSuccess ? news : code);
}

Communicator::Failure Communicator::settle(std::unique_lock<std::mutex>& lock, Deadline deadline) {
  const Clock::time_point begun = Clock::now();
  while (is_in_progress(state_)) {
    ncclResult_t news = ncclSuccess;
    const ncclResult_t code = api_.comm_get_async_error(comm_, &news);
    if (Failure failure = take(CommCall::look, code == ncclSuccess ? news : code)) return failure;
    if (!is_in_progress(state_)) break;
    const Clock::duration span = Clock::now() - begun;
    if (deadline.passed()) {
      return fmt::format("no answer after {:.3g} s: NCCL is still {}",
                         std::chrono::duration<double>(span).count(), name_of(state_));
    }
    lock.unlock();
    if (span < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kLookEvery);
    }
    lock.lock();
  }
  if (state_ == CommState::failed || state_ == CommState::aborted) return refusal();
  return std::nullopt;
}

void Communicator::close(Deadline deadline) {
  {
    std::unique_lock lock(mutex_);
    if (is_allowed(state_, CommCall::finalize) &&
        !take(CommCall::finalize, api_.comm_finalize(comm_)) && !settle(lock, deadline) &&
        is_allowed(state_, CommCall::destroy)) {
      state_ = CommState::destroyed;
      static_cast<void>(api_.comm_destroy(comm_));
      comm_ = nullptr;
    }
  }
  abort();
}

// Once the state says so, nothing uses the communicator any more. So ncclCommAbort needs no lock,
// and it takes as long as the communicator's kernels do.
void Communicator::abort() {
  ncclComm_t comm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!is_allowed(state_, CommCall::abort)) return;
    state_ = CommState::aborted;
    std::swap(comm, comm_);
  }
  if (comm != nullptr) static_cast<void>(api_.comm_abort(comm));
}

}  // namespace ds::comm
