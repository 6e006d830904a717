// NcclGroup: puts operations on the stream, watches their end, and formats failures.
#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/nccl/nccl_group.h"
#include "engine/device/cuda/check.h"

namespace ds::comm {
namespace {

using namespace std::chrono_literals;
// How long ranks that failed wait for each other's positions.
constexpr Clock::duration kAsk = 2s;
// How long a thread that saw the failure waits for that exchange and for NCCL to end the
// communicator.
constexpr Clock::duration kTold = 10s;

double seconds(Clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

std::size_t NcclGroup::begin(const Flight& operation) {
  const std::lock_guard lock(mutex_);
  return log_.begin(operation, about_, Clock::now());
}

std::size_t NcclGroup::run(Flight operation, Deadline deadline, Put put) {
  wait_for_place();
  throw_if_failed(operation.operation);
  operation.budget = deadline.at() - Clock::now();
  const std::size_t place = begin(operation);
  cuda::check(cudaEventRecord(begun_[place].get, stream_), operation.operation);
  if (const Communicator::Failure why = parts_.comm->issue(put, deadline)) {
    fail(text_of_newest(), *why);
    throw_failure("");
  }
  cuda::check(cudaEventRecord(ended_[place].get, stream_), operation.operation);
  {
    const std::lock_guard lock(mutex_);
    log_.issued(Clock::now());
  }
  parts_.watchdog->wake();
  if (own_stream_ != nullptr) {
    wait_for_end(ended_[place].get);
    raise_failure();
  }
  return place;
}

std::string NcclGroup::text_of_newest() {
  const std::lock_guard lock(mutex_);
  return text_of(*log_.newest());
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
    const bool runs = flight->state == Flight::State::running;
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

void NcclGroup::look(Clock::time_point now) {
  const std::lock_guard lock(look_mutex_);
  find_trouble(now);
}

void NcclGroup::find_trouble(Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    if (health_ != Health::well) return;
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
    if (why.empty()) return;
    const Flight* const oldest = log_.oldest();
    operation = oldest != nullptr ? text_of(*oldest) : "between operations";
  }
  fail(operation, why);
}

// The guard considers that this rank waits in an operation once the operation's stream has reached
// it.
void NcclGroup::tell_guard() {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  const Flight* const oldest = log_.oldest();
  const bool does_wait = oldest != nullptr && oldest->state == Flight::State::running;
  const Clock::time_point since = does_wait ? oldest->since : Clock::time_point{};
  if (since == told_since_) return;
  told_since_ = since;
  if (!does_wait) return watch_->end();
  // No member knows alone how many bytes all_to_all moves.
  const bool is_known = std::string_view(oldest->operation) != "all_to_all";
  watch_->begin(oldest->is_collective ? oldest->number : 0, oldest->operation, oldest->about,
                is_known ? oldest->bytes : 0);
}

void NcclGroup::on_hopeless(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (hopeless_.empty()) hopeless_ = reason;
}

void NcclGroup::forgive(Clock::duration gap) {
  const std::lock_guard lock(mutex_);
  log_.forgive(gap);
}

bool NcclGroup::is_busy() {
  const std::lock_guard lock(mutex_);
  return health_ == Health::well && !log_.is_idle();
}

std::string NcclGroup::head() const {
  const std::string epoch = spec().epoch == 0 ? "" : fmt::format(", epoch {}", spec().epoch);
  return fmt::format("rank {} (of group {}{})", spec().ranks[static_cast<std::size_t>(rank())],
                     spec().name, epoch);
}

// Ends the communicator first. That releases the threads that wait for the stream, here and, where
// NCCL's network threads notice, at the peers.
void NcclGroup::fail(const std::string& operation, const std::string& why) {
  Position own;
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    if (health_ != Health::well) return;
    health_ = Health::asking;
    own = position_of(log_);
    message_ = fmt::format("{}: {}: {}", head(), operation, why);
    if (const Flight* const done = log_.last_done()) {
      message_ += fmt::format("; the last operation that ended was {} (number {})", text_of(*done),
                              done->number);
    }
    first = message_;
  }
  parts_.comm->abort();
  if (watch_ != nullptr) watch_->fail(first);
  const std::string others = ask_others(own);
  {
    const std::lock_guard lock(mutex_);
    if (!others.empty()) message_ += "; " + others;
    health_ = Health::failed;
  }
  told_.notify_all();
}

// Ranks that failed too answer with their positions; a rank that does not answer is behind or gone.
std::string NcclGroup::ask_others(const Position& own) {
  std::vector<EncodedPosition> all(spec().ranks.size());
  std::vector<std::span<std::byte>> pieces(all.begin(), all.end());
  all[static_cast<std::size_t>(rank())] = encode(own);
  try {
    parts_.control->about("positions of the ranks");
    parts_.control->all_gather(pieces, Deadline::after(kAsk));
  } catch (const Error& error) {
    return error.what();
  }
  std::vector<Position> positions;
  for (const EncodedPosition& each : all) positions.push_back(decode_position(each));
  return difference_text(spec().ranks, positions);
}

// Waits until the others were asked, so that the message is complete.
void NcclGroup::throw_failure(const std::string& before) {
  std::unique_lock lock(mutex_);
  told_.wait_for(lock, kTold, [this] { return health_ == Health::failed; });
  throw Error(ErrorKind::comm, before + message_);
}

void NcclGroup::throw_if_failed(const char* operation) {
  {
    const std::lock_guard lock(mutex_);
    if (health_ == Health::well) return;
  }
  throw_failure(fmt::format("{}: {}: the group had already failed: ", head(), operation));
}

void NcclGroup::raise_failure() {
  look(Clock::now());
  {
    const std::lock_guard lock(mutex_);
    if (health_ == Health::well) return;
  }
  throw_failure("");
}

void NcclGroup::abort() {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = health_ == Health::well;
    if (is_first) {
      health_ = Health::failed;
      const Flight* const oldest = log_.oldest();
      message_ = fmt::format("{}: {}the group was aborted", head(),
                             oldest != nullptr ? text_of(*oldest) + ": " : "");
    }
  }
  parts_.comm->abort();
  if (is_first && watch_ != nullptr) watch_->fail("the group was aborted");
  parts_.control->abort();
  told_.notify_all();
}

}  // namespace ds::comm
