// Tests of Watchdog: it calls back once when a deadline passes, and never after the watch has
// ended.
#include "engine/comm/mesh/watchdog.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

TEST_CASE("a passed deadline is reported, soon after it and not before") {
  Watchdog dog;
  for (const auto span : {-1s + 0ms, 0ms, 30ms, 1200ms}) {
    std::promise<Clock::time_point> called;
    const std::function<void()> late = [&] {
      called.set_value(Clock::now());
    };  // a second call would throw
    const Deadline deadline = Deadline::after(span);
    const Watchdog::Watch watch(dog, deadline, late);
    CHECK(called.get_future().get() >= deadline.at());
  }
}

TEST_CASE("the earliest of several deadlines is reported first, and an ended watch never") {
  Watchdog dog;
  std::atomic<int> calls = 0;
  std::promise<int> first;
  const std::function<void()> never = [&] { ++calls; };
  const std::function<void()> one = [&] { first.set_value(1); };
  const Watchdog::Watch far(dog, Deadline::after(1h), never);
  { const Watchdog::Watch gone(dog, Deadline::after(20ms), never); }
  const Watchdog::Watch near(dog, Deadline::after(60ms), one);
  CHECK(first.get_future().get() == 1);
  CHECK(calls == 0);
}
