// Tests of FlightLog and Position on virtual time: which operation is late, where a rank is, who is
// behind.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "engine/comm/nccl/flight_log.h"
#include "engine/comm/nccl/positions.h"

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
  CHECK(text_of(*late) == "all_gather gather.block3");
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
  CHECK(log.last_done()->about == "a");
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
  CHECK(log.last_done() == nullptr);
  log.advance(Flight::State::done, kStart);
  CHECK(!log.is_full());
  CHECK(log.last_done()->number == 1);
  CHECK(log.begin({.operation = "all_gather"}, "", kStart) == 0);
  CHECK(log.newest()->number == FlightLog::kFlights + 1);
  CHECK(log.last_done() == nullptr);  // its place was reused
  CHECK(log.oldest()->number == 2);
  CHECK(log.oldest_place() == 1);
}

TEST_CASE("point-to-point operations are not counted: numbers stay the same on all ranks") {
  FlightLog log;
  issue(log, "all_gather", "a", 1s);
  log.begin({.is_collective = false, .operation = "send"}, "b", kStart);
  log.issued(kStart);
  issue(log, "all_gather", "c", 1s);
  CHECK(log.newest()->number == 2);
  log.advance(Flight::State::done, kStart);
  log.advance(Flight::State::running, kStart);
  const Position sends = position_of(log);
  CHECK(sends.number == 1);
  CHECK(!sends.is_collective);
  CHECK(!decode_position(encode(sends)).is_collective);
  // Either rank may wait for the other, so both are named.
  const std::vector<int> ranks{0, 1};
  const Position next{.number = 2, .waits = true, .operation = "all_gather c"};
  CHECK(difference_text(ranks, std::vector<Position>{sends, next}) ==
        "rank 0 waits in send b (number 1), rank 1 waits in all_gather c (number 2)");
}

TEST_CASE("positions survive encoding; long names are cut") {
  for (const Position& position :
       {Position{}, Position{.number = 17, .waits = true, .operation = "all_gather gather.block3"},
        Position{.number = 1ULL << 40, .waits = false, .operation = "barrier"}}) {
    const Position back = decode_position(encode(position));
    CHECK(back.number == position.number);
    CHECK(back.waits == position.waits);
    CHECK(back.operation == position.operation);
  }
  const Position longer{.number = 1, .waits = true, .operation = std::string(1000, 'x')};
  CHECK(decode_position(encode(longer)).operation == std::string(246, 'x'));
  EncodedPosition garbage;
  garbage.fill(std::byte{0xff});
  CHECK(decode_position(garbage).operation.size() == 246);
}

TEST_CASE("the rank that is furthest behind is named with its last operation") {
  const std::vector<int> ranks{4, 5, 7};
  const Position waits{.number = 17, .waits = true, .operation = "all_gather gather.block3"};
  const auto text = [&](const Position& third) {
    return difference_text(ranks, std::vector<Position>{waits, waits, third});
  };
  CHECK(text({.number = 16, .waits = false, .operation = "all_gather gather.block2"}) ==
        "rank 7 is behind all_gather gather.block2 (number 16)");
  CHECK(text({.number = 12, .waits = true, .operation = "barrier"}) ==
        "rank 7 waits in barrier (number 12)");
  CHECK(text({}) == "rank 7 has issued nothing");
  CHECK(text({.number = 18, .waits = true, .operation = "barrier"}) ==
        "rank 4 waits in all_gather gather.block3 (number 17), rank 5 waits in all_gather "
        "gather.block3 (number 17)");
  CHECK(text(waits) == "");
}

TEST_CASE("ranks that issued different operations under one number are named") {
  const std::vector<int> ranks{0, 1};
  const std::vector<Position> positions{{.number = 3, .waits = true, .operation = "all_gather a"},
                                        {.number = 3, .waits = true, .operation = "all_to_all b"}};
  CHECK(difference_text(ranks, positions) ==
        "the ranks issue different operations: rank 0 waits in all_gather a (number 3), rank 1 "
        "waits in all_to_all b (number 3)");
}

TEST_CASE("a position describes the oldest unfinished operation, else the last one") {
  FlightLog log;
  CHECK(position_of(log).number == 0);
  issue(log, "all_gather", "a", 1s);
  CHECK(!position_of(log).waits);
  log.advance(Flight::State::running, kStart);
  issue(log, "barrier", "", 1s);
  CHECK(position_of(log).waits);
  CHECK(position_of(log).operation == "all_gather a");
  log.advance(Flight::State::done, kStart);
  log.advance(Flight::State::done, kStart);
  CHECK(position_of(log).operation == "barrier");
  CHECK(position_of(log).number == 2);
  CHECK(!position_of(log).waits);
}
