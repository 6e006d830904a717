// FlightLog: the last operations of one group that were put on streams, which end in the order in
// which they were issued, and how far each has come. The watchdog decides by it and errors quote
// it. Pure: time is an argument.
//
// Threads: the caller locks. Memory: allocates nothing once names of that length were seen.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/deadline.h"
#include "engine/base/error.h"

namespace ds::comm {

/// Formats as "all_gather gather.block3".
inline std::string operation_text(std::string_view operation, std::string_view about) {
  return fmt::format("{}{}{}", operation, about.empty() ? "" : " ", about);
}

struct Flight {
  enum class State : std::uint8_t {
    issuing,  // the stream does not have all of it yet
    queued,   // on the stream, behind other work
    running,  // the stream has reached it: peers must arrive now
    done
  };
  const char* operation = "";
  std::uint64_t bytes = 0;
  Clock::duration budget{};  // time for the peers to arrive, from when it runs
  // Set by the log:
  std::string about{};
  // Counted from 1: equal numbers mean the same operation on every rank.
  std::uint64_t number = 0;
  State state = State::done;
  Clock::time_point since{};  // when it entered this state
  [[nodiscard]] std::string text() const { return operation_text(operation, about); }
};

class FlightLog {
 public:
  /// The most operations that may be unfinished at once.
  static constexpr std::size_t kFlights = 64;

  [[nodiscard]] bool is_full() const { return last_ - done_ == kFlights; }
  [[nodiscard]] bool is_idle() const { return done_ == last_; }
  /// Adds an operation. Returns its index, in [0, kFlights). Must not be called when full.
  std::size_t begin(const Flight& operation, std::string_view about, Clock::time_point now) {
    DS_ASSERT(!is_full());
    const std::size_t place = last_++ % kFlights;
    Flight& flight = flights_[place];
    flight.operation = operation.operation;
    flight.bytes = operation.bytes;
    flight.budget = operation.budget;
    flight.about.assign(about);
    flight.number = last_;
    enter(flight, Flight::State::issuing, now);
    return place;
  }
  /// Marks the newest operation as on its stream.
  void issued(Clock::time_point now) { enter(at(last_), Flight::State::queued, now); }
  /// Sets the state of the oldest unfinished operation: running or done.
  void advance(Flight::State state, Clock::time_point now) {
    DS_ASSERT(!is_idle());
    enter(at(done_ + 1), state, now);
    if (state == Flight::State::done) ++done_;
  }
  /// Extends the budgets by a time in which the process was suspended.
  void forgive(Clock::duration gap) {
    for (std::uint64_t n = done_ + 1; n <= last_; ++n) at(n).since += gap;
  }

  /// Returns the oldest unfinished operation; null when all are done.
  [[nodiscard]] const Flight* oldest() const { return is_idle() ? nullptr : &at(done_ + 1); }
  [[nodiscard]] std::size_t oldest_place() const { return done_ % kFlights; }
  /// Returns the oldest unfinished operation if the stream has reached it; else null.
  [[nodiscard]] const Flight* running() const {
    const Flight* const flight = oldest();
    return flight != nullptr && flight->state == Flight::State::running ? flight : nullptr;
  }
  /// Returns running() if it runs longer than its budget; else null.
  [[nodiscard]] const Flight* late(Clock::time_point now) const {
    const Flight* const flight = running();
    return flight != nullptr && now - flight->since >= flight->budget ? flight : nullptr;
  }

 private:
  // The n-th operation, counted from 1.
  [[nodiscard]] Flight& at(std::uint64_t n) { return flights_[(n - 1) % kFlights]; }
  [[nodiscard]] const Flight& at(std::uint64_t n) const { return flights_[(n - 1) % kFlights]; }
  static void enter(Flight& flight, Flight::State state, Clock::time_point now) {
    flight.state = state;
    flight.since = now;
  }
  std::array<Flight, kFlights> flights_;
  std::uint64_t last_ = 0, done_ = 0;  // how many were issued; how many have ended
};

}  // namespace ds::comm
