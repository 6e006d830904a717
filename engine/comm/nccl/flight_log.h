// The last operations of one group that were put on streams, and how far each has come: what the
// watchdog decides by, and what errors tell. Pure: time is given.
//
// Threads: the caller locks. Memory: nothing is allocated once names of that length were seen.
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
    running,  // the stream has got there: peers must come now
    done
  };
  // Collectives up to this operation: where it is one itself, equal numbers are the same one on
  // every rank. What two ranks say to each other is not counted.
  std::uint64_t number = 0;
  bool is_collective = true;
  const char* operation = "";
  std::string about{};
  std::uint64_t bytes = 0;
  Clock::duration budget{};  // for the others to come, from when it runs
  State state = State::done;
  Clock::time_point since{};  // when it came into this state
};

class FlightLog {
 public:
  /// As many may be unfinished at once.
  static constexpr std::size_t kFlights = 64;

  [[nodiscard]] bool is_full() const { return last_ - done_ == kFlights; }
  /// Takes operation, is_collective, bytes and budget. The place of the new one, in [0, kFlights);
  /// not when full.
  std::size_t begin(const Flight& operation, std::string_view about, Clock::time_point now);
  /// The newest is on its stream.
  void issued(Clock::time_point now);
  /// The oldest unfinished one: it runs, or has ended.
  void advance(Flight::State state, Clock::time_point now);
  /// The process was suspended for so long.
  void forgive(Clock::duration gap);

  /// Null: all are done.
  [[nodiscard]] const Flight* oldest() const;
  [[nodiscard]] std::size_t oldest_place() const { return done_ % kFlights; }
  [[nodiscard]] bool is_idle() const { return done_ == last_; }
  /// Null: none ended yet.
  [[nodiscard]] const Flight* last_done() const;
  [[nodiscard]] const Flight* newest() const;
  /// The oldest one, when it runs longer than it may.
  [[nodiscard]] const Flight* late(Clock::time_point now) const;

 private:
  // The n-th operation, from 1.
  [[nodiscard]] const Flight& at(std::uint64_t n) const { return flights_[(n - 1) % kFlights]; }
  std::array<Flight, kFlights> flights_;
  std::uint64_t last_ = 0, done_ = 0;  // so many were issued, have ended
  std::uint64_t collectives_ = 0;
};

/// "all_gather gather.block3".
std::string text_of(const Flight& flight);

}  // namespace ds::comm
