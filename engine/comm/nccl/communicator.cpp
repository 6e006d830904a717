// Communicator: NCCL calls under the lock, and the wait for those in progress.
#include "engine/comm/nccl/communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

namespace ds::comm {
namespace {

using namespace std::chrono_literals;

// Most calls finish within microseconds: NCCL runs each in a thread that it starts for it.
constexpr Clock::duration kEager = 300us;
constexpr Clock::duration kLookEvery = 100us;

}  // namespace

std::string error_text(const NcclApi& api, ncclComm_t comm, ncclResult_t code) {
  const char* const name = api.get_error_string(code);
  const char* const last = api.get_last_error(comm);
  std::string_view more = last != nullptr ? last : "";
  while (more.ends_with('\n')) more.remove_suffix(1);
  return fmt::format("{}{}", name != nullptr ? name : "unknown error",
                     more.empty() ? "" : fmt::format(" (NCCL says: {})", more));
}

Communicator::State Communicator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

Communicator::Failure Communicator::refusal() const {
  if (state_ != State::failed && state_ != State::gone)
    return std::string("the communicator is in use, or was not started");
  return why_.empty() ? "the group was aborted" : why_;
}

Communicator::Failure Communicator::take(ncclResult_t code) {
  state_ = code == ncclSuccess      ? State::ready
           : code == ncclInProgress ? State::busy
                                    : State::failed;
  if (state_ != State::failed) return std::nullopt;
  why_ = error_text(api_, comm_, code);
  return why_;
}

Communicator::Failure Communicator::poll() {
  ncclResult_t news = ncclSuccess;
  const ncclResult_t code = api_.comm_get_async_error(comm_, &news);
  return take(code == ncclSuccess ? news : code);
}

Communicator::Failure Communicator::settle(std::unique_lock<std::mutex>& lock, Deadline deadline) {
  const Clock::time_point begun = Clock::now();
  while (state_ == State::busy) {
    if (Failure failure = poll()) return failure;
    if (state_ != State::busy) break;
    const Clock::duration span = Clock::now() - begun;
    if (deadline.passed()) {
      return fmt::format("no answer after {:.3g} s: NCCL is still {}", seconds_of(span), doing_);
    }
    lock.unlock();
    if (span < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kLookEvery);
    }
    lock.lock();
  }
  return state_ == State::ready ? std::nullopt : refusal();
}

Communicator::Failure Communicator::start(const ncclUniqueId& id, int rank, int size,
                                          const std::string& name, Deadline deadline) {
  Failure failure;
  {
    std::unique_lock lock(mutex_);
    if (state_ != State::none) return refusal();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    name_ = name;
    config.commName = name_.c_str();
    doing_ = "starting";
    failure = take(api_.comm_init_rank_config(&comm_, size, id, rank, &config));
    if (!failure) failure = settle(lock, deadline);
  }
  if (failure) abort();
  return failure;
}

Communicator::Failure Communicator::issue(FunctionRef<ncclResult_t(ncclComm_t)> put,
                                          Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (state_ != State::ready) return refusal();
  doing_ = "issuing";
  Failure failure = take(put(comm_));
  return failure ? failure : settle(lock, deadline);
}

Communicator::Failure Communicator::look() {
  const std::lock_guard lock(mutex_);
  return state_ == State::ready || state_ == State::busy ? poll() : std::nullopt;
}

void Communicator::close(Deadline deadline) {
  {
    std::unique_lock lock(mutex_);
    doing_ = "closing";
    if (state_ == State::ready && !take(api_.comm_finalize(comm_)) && !settle(lock, deadline)) {
      state_ = State::gone;
      static_cast<void>(api_.comm_destroy(comm_));
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
    if (state_ == State::none || state_ == State::gone) return;
    state_ = State::gone;
    std::swap(comm, comm_);
  }
  if (comm != nullptr) static_cast<void>(api_.comm_abort(comm));
}

}  // namespace ds::comm
