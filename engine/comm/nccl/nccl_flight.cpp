// NcclGroup: puts operations on the stream, watches their end, and formats failures.
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/nccl/nccl_group.h"
#include "engine/device/cuda/check.h"

namespace ds::comm {
void NcclGroup::run(const Flight& operation, Deadline deadline, Put put) {
  wait_for_place();
  throw_failure(operation.operation);
  std::size_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    Flight flight = operation;
    flight.budget = deadline.at() - Clock::now();
    place = log_.begin(flight, about_, Clock::now());
  }
  cuda::check(cudaEventRecord(begun_[place].get, stream_), operation.operation);
  if (const Communicator::Failure why = parts_.comm->issue(put, deadline)) {
    fail(operation_text(operation.operation, about_), *why);
    throw_failure();
  }
  cuda::check(cudaEventRecord(ended_[place].get, stream_), operation.operation);
  {
    const std::lock_guard lock(mutex_);
    log_.issued(Clock::now());
  }
}

// Waits while the log is full: issuing runs ahead of the device by at most kFlights operations.
void NcclGroup::wait_for_place() {
  cudaEvent_t oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!log_.is_full()) return;
    oldest = ended_[log_.oldest_place()].get;
  }
  cuda::check(cudaEventSynchronize(oldest), "waiting for an operation of group " + spec().name);
  const std::lock_guard lock(look_mutex_);
  while (advance(Clock::now())) {
  }
}

// Returns false when the oldest operation has not moved.
bool NcclGroup::advance(Clock::time_point now) {
  cudaEvent_t event = nullptr;
  Flight::State next{};
  {
    const std::lock_guard lock(mutex_);
    const Flight* const flight = log_.oldest();
    if (flight == nullptr || flight->state == Flight::State::issuing) return false;
    const bool runs = log_.running() != nullptr;
    event = (runs ? ended_ : begun_)[log_.oldest_place()].get;
    next = runs ? Flight::State::done : Flight::State::running;
  }
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) return false;
  if (status != cudaSuccess) {
    fail("polling the device",
         fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status)));
    return false;
  }
  if (next == Flight::State::done) parts_.activity->tick();
  const std::lock_guard lock(mutex_);
  log_.advance(next, now);
  return true;
}

// Returns whether operations are under way.
bool NcclGroup::look(Clock::time_point now, Clock::duration gap) {
  const std::lock_guard looking(look_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (!message_.empty()) return false;
    log_.forgive(gap);
  }
  while (advance(now)) {
  }
  tell_guard();
  const Communicator::Failure news = parts_.comm->look();
  std::string operation, why;
  {
    const std::lock_guard lock(mutex_);
    if (const Flight* const late = log_.late(now))
      why = fmt::format("no answer after {:.3g} s", seconds_of(now - late->since));
    if (!hopeless_.empty()) why = hopeless_;
    if (news) why = *news;
    if (why.empty()) return message_.empty() && !log_.is_idle();
    operation = current();
  }
  fail(operation, why);
  return false;
}

// The guard considers that this rank waits in an operation once the operation's stream has reached
// it.
void NcclGroup::tell_guard() {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  const Flight* const flight = log_.running();
  const Clock::time_point since = flight != nullptr ? flight->since : Clock::time_point();
  if (since == told_since_) return;
  told_since_ = since;
  if (flight == nullptr) return watch_->end();
  // No member knows alone how many bytes all_to_all moves.
  const bool is_known = std::string_view(flight->operation) != "all_to_all";
  watch_->begin(flight->number, flight->operation, flight->about, is_known ? flight->bytes : 0);
}

std::string NcclGroup::head() const {
  const std::string epoch = spec().epoch == 0 ? "" : fmt::format(", epoch {}", spec().epoch);
  return fmt::format("rank {} (of group {}{})", spec().ranks[static_cast<std::size_t>(rank())],
                     spec().name, epoch);
}

// Ends the communicator first. That releases the threads that wait for the stream, here and, where
// NCCL's network threads notice, at the peers.
void NcclGroup::fail(const std::string& operation, const std::string& why) {
  std::string message;
  {
    const std::lock_guard lock(mutex_);
    if (!message_.empty()) return;
    message = message_ = fmt::format("{}: {}: {}", head(), operation, why);
  }
  if (watch_ != nullptr) watch_->fail(message);
  parts_.comm->abort();
}

// Members that failed too get there; the error names the others.
std::string NcclGroup::find_absent() {
  try {
    parts_.control->about("the end of the group");
    parts_.control->barrier(Deadline::after(std::chrono::seconds(2)));
    return {};
  } catch (const Error& error) {
    return fmt::format("; {}", error.what());
  }
}

// Does nothing while the group is well.
void NcclGroup::throw_failure(const char* late_operation) {
  std::unique_lock lock(mutex_);
  if (message_.empty()) return;
  if (!std::exchange(absent_named_, true)) {
    lock.unlock();
    const std::string absent = find_absent();
    lock.lock();
    message_ += absent;
  }
  if (late_operation == nullptr) throw Error(ErrorKind::comm, message_);
  throw Error(ErrorKind::comm, fmt::format("{}: {}: the group had already failed: {}", head(),
                                           late_operation, message_));
}

void NcclGroup::raise_failure() {
  look(Clock::now(), {});
  throw_failure();
}

void NcclGroup::abort() {
  std::string operation;
  {
    const std::lock_guard lock(mutex_);
    absent_named_ = true;  // nobody is to be waited for
    operation = current();
  }
  fail(operation, "the group was aborted");
  parts_.control->abort();
}

}  // namespace ds::comm
