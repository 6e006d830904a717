// Tests of FlightLog on virtual time: which operation is late.
#include "engine/comm/nccl/flight_log.h"

#include <doctest/doctest.h>

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

namespace {

const Clock::time_point kStart{};

void issue(FlightLog& log, const char* operation, const char* about, Clock::duration budget) {
  log.begin({.operation = operation, .bytes = 100, .budget = budget}, about, kStart);
  log.issued(kStart);
}

}  // namespace

TEST_CASE(
    "lateness counts from when the stream reached the operation, not from when it was issued") {
  FlightLog log;
  issue(log, "all_gather", "gather.block3", 5s);
  CHECK(log.late(kStart + 1h) == nullptr);  // the stream is busy with something else
  log.advance(Flight::State::running, kStart + 1h);
  CHECK(log.late(kStart + 1h + 4999ms) == nullptr);
  const Flight* const late = log.late(kStart + 1h + 5s);
  REQUIRE(late != nullptr);
  CHECK(late->text() == "all_gather gather.block3");
  log.advance(Flight::State::done, kStart + 1h + 6s);
  CHECK(log.late(kStart + 2h) == nullptr);
  CHECK(log.is_idle());
}

TEST_CASE("only the oldest unfinished operation can be late") {
  FlightLog log;
  issue(log, "all_gather", "a", 10s);
  issue(log, "all_gather", "b", 0s);
  log.advance(Flight::State::running, kStart);
  CHECK(log.late(kStart + 5s) == nullptr);
  log.advance(Flight::State::done, kStart + 5s);
  CHECK(log.oldest()->about == "b");
  log.advance(Flight::State::running, kStart + 5s);
  CHECK(log.late(kStart + 5s)->about == "b");
}

TEST_CASE("an operation that is being issued is never late here") {
  FlightLog log;
  log.begin({.operation = "all_gather"}, "", kStart);
  CHECK(log.late(kStart + 1h) == nullptr);
}

TEST_CASE("time in which the process was suspended is forgiven") {
  FlightLog log;
  issue(log, "barrier", "", 5s);
  log.advance(Flight::State::running, kStart);
  log.forgive(1h);
  CHECK(log.late(kStart + 1h + 4s) == nullptr);
  CHECK(log.late(kStart + 1h + 5s) != nullptr);
}

TEST_CASE("the log is a ring: full when as many are unfinished, free again when one ended") {
  FlightLog log;
  for (std::size_t i = 0; i < FlightLog::kFlights; ++i) {
    CHECK(!log.is_full());
    issue(log, "all_gather", "x", 1s);
  }
  CHECK(log.is_full());
  log.advance(Flight::State::done, kStart);
  CHECK(!log.is_full());
  CHECK(log.begin({.operation = "all_gather"}, "", kStart) == 0);
  CHECK(log.oldest()->number == 2);
  CHECK(log.oldest_place() == 1);
}
