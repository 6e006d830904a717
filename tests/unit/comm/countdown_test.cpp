// Tests of Countdown: it counts running time only.
#include "engine/comm/mesh/countdown.h"

#include <doctest/doctest.h>

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

TEST_CASE("a deadline passes after its time, however often it is looked at") {
  const Clock::time_point begin{1h};
  Countdown countdown(Deadline(begin + 5s), begin);
  for (int second = 0; second < 5; ++second) CHECK(!countdown.passed(begin + second * 1s));
  CHECK(countdown.for_poll(begin + 4s) == 1000);
  CHECK(countdown.for_poll(begin + 4900ms) == 100);
  CHECK(countdown.passed(begin + 5s));
  CHECK(countdown.for_poll(begin + 6s) == 0);
}

TEST_CASE("time in which the process was suspended does not count; a late thread's time does") {
  const Clock::time_point begin{1h};
  Countdown countdown(Deadline(begin + 5s), begin);
  CHECK(!countdown.passed(begin + 1s));
  CHECK(!countdown.passed(begin + 3601s));  // an hour of suspension
  CHECK(!countdown.passed(begin + 3604s));
  CHECK(countdown.passed(begin + 3605s));
  Countdown busy(Deadline(begin + 5s), begin);
  CHECK(!busy.passed(begin + 2900ms));
  CHECK(busy.passed(begin + 5s));
}
