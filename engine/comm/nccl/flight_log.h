// FlightLog: the last operations of one group that were put on streams, and how far each has come.
// The watchdog decides by it and errors quote it. Pure: time is an argument.
//
// Threads: the caller locks. Memory: allocates nothing once names of that length were seen.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/deadline.h"

namespace ds::comm {

struct Flight {
  enum class State : std::uint8_t {
    issuing,  // the stream does not have all of it yet
    queued,   // on the stream, behind other work
    running,  // the stream has reached it: peers must arrive now
    done
  };
  // How many collectives were issued up to this operation. Equal numbers of two collectives mean
  // the same one on every rank. Point-to-point operations are not counted.
  std::uint64_t number = 0;
  bool is_collective = true;
  const char* operation = "";
  std::string about{};
  std::uint64_t bytes = 0;
  Clock::duration budget{};  // time for the peers to arrive, from when it runs
  State state = State::done;
  Clock::time_point since{};  // when it entered this state
};

class FlightLog {
 public:
  /// The most operations that may be unfinished at once.
  static constexpr std::size_t kFlights = 64;

  [[nodiscard]] bool is_full() const { return last_ - done_ == kFlights; }
  /// Adds an operation, of which operation, is_collective, bytes and budget are used. Returns its
  /// index, in [0, kFlights). Must not be called when full.
  std::size_t begin(const Flight& operation, std::string_view about, Clock::time_point now);
  /// Marks the newest operation as on its stream.
  void issued(Clock::time_point now);
  /// Sets the state of the oldest unfinished operation: running or done.
  void advance(Flight::State state, Clock::time_point now);
  /// Extends the budgets by a time in which the process was suspended.
  void forgive(Clock::duration gap);

  /// Returns the oldest unfinished operation; null when all are done.
  [[nodiscard]] const Flight* oldest() const;
  [[nodiscard]] std::size_t oldest_place() const { return done_ % kFlights; }
  [[nodiscard]] bool is_idle() const { return done_ == last_; }
  /// Returns the operation that ended last; null when none has.
  [[nodiscard]] const Flight* last_done() const;
  [[nodiscard]] const Flight* newest() const;
  /// Returns the oldest unfinished operation if it runs longer than its budget; else null.
  [[nodiscard]] const Flight* late(Clock::time_point now) const;

 private:
  // The n-th operation, counted from 1.
  [[nodiscard]] const Flight& at(std::uint64_t n) const { return flights_[(n - 1) % kFlights]; }
  std::array<Flight, kFlights> flights_;
  std::uint64_t last_ = 0, done_ = 0;  // how many were issued; how many have ended
  std::uint64_t collectives_ = 0;
};

/// Formats as "all_gather gather.block3".
std::string text_of(const Flight& flight);

}  // namespace ds::comm
