// Tests of the schedule of repeated lookups, without and with a negative TTL.
#include <doctest/doctest.h>

#include "launcher/dns/wait_state.h"

using namespace ds::launcher;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("the pauses without a negative TTL") {
  CHECK(pause_before_next_look(1, {}, 0.9) == milliseconds(500));
  CHECK(pause_before_next_look(2, {}, 0.9) == milliseconds(500));
  CHECK(pause_before_next_look(3, {}, 0.9) == milliseconds(1000));
  for (const int looks : {4, 5, 100}) {
    CHECK(pause_before_next_look(looks, {}, 0) == milliseconds(4000));
    CHECK(pause_before_next_look(looks, {}, 0.5) == milliseconds(5000));
    CHECK(pause_before_next_look(looks, {}, 1) == milliseconds(6000));
  }
}

TEST_CASE("a negative TTL stretches the early pauses, at most to 5 s") {
  CHECK(pause_before_next_look(1, seconds(0), 0) == milliseconds(500));
  CHECK(pause_before_next_look(1, seconds(3), 0) == milliseconds(3050));
  CHECK(pause_before_next_look(1, seconds(3), 1) == milliseconds(3250));
  for (const int looks : {1, 2, 3})
    for (const int ttl : {5, 30, 3600, 2'000'000'000})
      CHECK(pause_before_next_look(looks, seconds(ttl), 1) == milliseconds(5000));
}

TEST_CASE("a later lookup comes just after the end of a negative TTL that lies within its jitter") {
  CHECK(pause_before_next_look(9, seconds(5), 0) == milliseconds(5050));
  CHECK(pause_before_next_look(9, seconds(4), 0.5) == milliseconds(4150));
  CHECK(pause_before_next_look(9, seconds(30), 0.25) == milliseconds(4500));
  CHECK(pause_before_next_look(9, seconds(1), 0.25) == milliseconds(4500));
}
