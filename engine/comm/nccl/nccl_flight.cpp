// NcclGroup: puts operations on the stream, watches their end, and formats failures.
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/nccl/nccl_group.h"
#include "engine/comm/notes.h"
#include "engine/device/cuda/check.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;
// How long ranks that failed wait for each other's places.
constexpr Clock::duration kAsk = 2s;

double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

void NcclGroup::run(const Flight& operation, Deadline deadline, Put put) {
  wait_for_place();
  throw_failure(operation.operation);
  std::size_t place = 0;
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    Flight flight = operation;
    flight.budget = deadline.at() - Clock::now();
    place = log_.begin(flight, about_, Clock::now());
    text = log_.newest()->text();
  }
  cuda::check(cudaEventRecord(begun_[place].get, stream_), operation.operation);
  if (const Communicator::Failure why = parts_.comm->issue(put, deadline)) {
    fail(text, *why);
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
  wait_for_end(oldest);
  const std::lock_guard lock(look_mutex_);
  while (advance(Clock::now())) {
  }
}

void NcclGroup::wait_for_end(cudaEvent_t end) {
  cuda::check(cudaEventSynchronize(end), "waiting for an operation of group " + spec().name);
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
      why = fmt::format("no answer after {:.3g} s", seconds(now - late->since));
    if (!hopeless_.empty()) why = hopeless_;
    if (news) why = *news;
    if (why.empty()) return message_.empty() && !log_.is_idle();
    operation = log_.is_idle() ? "between operations" : log_.oldest()->text();
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
    message = fmt::format("{}: {}: {}", head(), operation, why);
    if (const Flight* const done = log_.last_done()) {
      message += fmt::format("; the last operation that ended was {} (number {})", done->text(),
                             done->number);
    }
    message_ = message;
    place_ = log_.place();
  }
  if (watch_ != nullptr) watch_->fail(message);
  parts_.comm->abort();
}

// Ranks that failed too say where they are. A rank that does not answer is behind or gone, and is
// named by the error of the exchange.
std::string NcclGroup::ask_others(const std::string& own) {
  constexpr std::size_t kNamed = 4;
  try {
    parts_.control->about("places of the ranks");
    const std::vector<std::string> places =
        exchange_notes(*parts_.control, own, Deadline::after(kAsk));
    std::string text;
    std::size_t elsewhere = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] == own || ++elsewhere > kNamed) continue;
      text += fmt::format("; rank {} {}", spec().ranks[i], places[i]);
    }
    if (elsewhere > kNamed) text += fmt::format("; and {} more", elsewhere - kNamed);
    return elsewhere == 0 ? "" : fmt::format("; this rank {}{}", own, text);
  } catch (const Error& error) {
    return fmt::format("; {}", error.what());
  }
}

// Does nothing while the group is well. The first caller asks the other ranks.
void NcclGroup::throw_failure(const char* late_operation) {
  std::string place;
  {
    const std::lock_guard lock(mutex_);
    if (message_.empty()) return;
    place = std::exchange(place_, "");
  }
  const std::string others = place.empty() ? "" : ask_others(place);
  const std::lock_guard lock(mutex_);
  message_ += others;
  if (late_operation == nullptr) throw Error(ErrorKind::comm, message_);
  throw Error(ErrorKind::comm, fmt::format("{}: {}: the group had already failed: {}", head(),
                                           late_operation, message_));
}

void NcclGroup::raise_failure() {
  look(Clock::now(), {});
  throw_failure();
}

void NcclGroup::abort() {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = message_.empty();
    if (is_first) {
      message_ = fmt::format("{}: {}the group was aborted", head(),
                             log_.is_idle() ? "" : log_.oldest()->text() + ": ");
    }
  }
  if (is_first && watch_ != nullptr) watch_->fail("the group was aborted");
  parts_.comm->abort();
  parts_.control->abort();
}

}  // namespace ds::comm
