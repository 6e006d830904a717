// FlightLog: a ring of operations, which end in the order in which they were issued.
#include "engine/comm/nccl/flight_log.h"

#include "engine/base/error.h"

namespace ds::comm {

std::size_t FlightLog::begin(const Flight& operation, std::string_view about,
                             Clock::time_point now) {
  DS_ASSERT(!is_full());
  const std::size_t place = last_++ % kFlights;
  if (operation.is_collective) ++collectives_;
  Flight& flight = flights_[place];
  flight.number = collectives_;
  flight.is_collective = operation.is_collective;
  flight.operation = operation.operation;
  flight.about.assign(about);
  flight.bytes = operation.bytes;
  flight.budget = operation.budget;
  flight.state = Flight::State::issuing;
  flight.since = now;
  return place;
}

void FlightLog::issued(Clock::time_point now) {
  DS_ASSERT(last_ > done_);
  Flight& flight = flights_[(last_ - 1) % kFlights];
  flight.state = Flight::State::queued;
  flight.since = now;
}

void FlightLog::advance(Flight::State state, Clock::time_point now) {
  DS_ASSERT(last_ > done_);
  Flight& flight = flights_[done_ % kFlights];
  flight.state = state;
  flight.since = now;
  if (state == Flight::State::done) ++done_;
}

void FlightLog::forgive(Clock::duration gap) {
  for (std::uint64_t n = done_; n < last_; ++n) flights_[n % kFlights].since += gap;
}

const Flight* FlightLog::oldest() const { return is_idle() ? nullptr : &at(done_ + 1); }

const Flight* FlightLog::last_done() const {
  const bool is_kept = done_ > 0 && last_ - done_ < kFlights;
  return is_kept ? &at(done_) : nullptr;
}

const Flight* FlightLog::newest() const { return last_ == 0 ? nullptr : &at(last_); }

const Flight* FlightLog::late(Clock::time_point now) const {
  const Flight* flight = oldest();
  if (flight == nullptr || flight->state != Flight::State::running) return nullptr;
  return now - flight->since >= flight->budget ? flight : nullptr;
}

std::string text_of(const Flight& flight) {
  return fmt::format("{}{}{}", flight.operation, flight.about.empty() ? "" : " ", flight.about);
}

}  // namespace ds::comm
