// Tests of NodeClock: times of a node on the launcher's clock, whatever the node's clock says.
#include "launcher/logs/node_clock.h"

#include <doctest/doctest.h>

namespace {

using namespace std::chrono_literals;
using namespace ds::launcher;
using std::chrono::nanoseconds;

const ds::Clock::time_point kT0{1h};

/// A node whose steady clock runs `ahead` of ours, behind a line with these delays.
struct Node {
  std::chrono::nanoseconds ahead{};
  std::uint64_t reading(ds::Clock::time_point ours) const { return clock_value(ours + ahead); }
  /// A round trip that begins at `start`: the answer arrives at the end, and is heard.
  void round_trip(NodeClock& clock, ds::Clock::time_point start, nanoseconds there,
                  nanoseconds held, nanoseconds back) const {
    clock.heard({.sent = reading(start + there + held),
                 .heard = clock_value(start),
                 .held = static_cast<std::uint64_t>(held.count())},
                start + there + held + back);
  }
};

nanoseconds off(nanoseconds difference) { return difference < 0ns ? -difference : difference; }

}  // namespace

TEST_CASE("a clock that is hours away is brought home to half a round trip") {
  for (const nanoseconds ahead : {nanoseconds(-5h), nanoseconds(0), nanoseconds(70h)}) {
    const Node node{ahead};
    NodeClock clock;
    clock.greeted(node.reading(kT0 - 3ms), kT0);
    CHECK(off(clock.here(node.reading(kT0 + 1s), kT0 + 2s) - (kT0 + 1s)) <= 3ms);
    node.round_trip(clock, kT0 + 2s, 4ms, 900ms, 2ms);
    CHECK(clock.reading(0)->error == nanoseconds(3ms));
    CHECK(off(clock.here(node.reading(kT0 + 4s), kT0 + 5s) - (kT0 + 4s)) == 1ms);
    node.round_trip(clock, kT0 + 5s, 200us, 100ms, 200us);
    CHECK(clock.here(node.reading(kT0 + 6s), kT0 + 7s) == kT0 + 6s);
  }
}

TEST_CASE("a worse sample counts only once the better one is old") {
  const Node node{1h};
  NodeClock clock;
  node.round_trip(clock, kT0, 1ms, 0ns, 1ms);
  node.round_trip(clock, kT0 + 1s, 50ms, 0ns, 1ms);
  CHECK(clock.reading(0)->error == nanoseconds(1ms));
  node.round_trip(clock, kT0 + 300s, 50ms, 0ns, 1ms);  // 300 s drift by up to 30 ms
  CHECK(clock.reading(0)->error == nanoseconds(25500us));
}

TEST_CASE("drift is followed") {
  NodeClock clock;
  for (int second = 0; second < 600; ++second) {
    const Node node{1h + second * 50us};  // 50 ppm
    const ds::Clock::time_point now = kT0 + std::chrono::seconds(second);
    node.round_trip(clock, now, 1ms, 500ms, 1ms);
    CHECK(off(clock.here(node.reading(now + 600ms), now + 700ms) - (now + 600ms)) <= 100us);
  }
}

TEST_CASE("times never run backwards, and never into the future") {
  const Node node{1h};
  NodeClock clock;
  clock.greeted(node.reading(kT0 - 80ms), kT0);  // 80 ms under way: lines look late
  const auto late = clock.here(node.reading(kT0 + 1s), kT0 + 1s + 90ms);
  CHECK(late == kT0 + 1s + 80ms);
  node.round_trip(clock, kT0 + 1s, 1ms, 0ns, 1ms);
  CHECK(clock.here(node.reading(kT0 + 1010ms), kT0 + 1100ms) == late);
  CHECK(clock.here(node.reading(kT0 + 9s), kT0 + 2s) == kT0 + 2s);
}

TEST_CASE("without any reading the present counts; nonsense changes nothing") {
  NodeClock clock;
  CHECK(clock.here(7, kT0) == kT0);
  CHECK_FALSE(clock.reading(0));
  clock.heard({.sent = 1, .heard = 0, .held = 0}, kT0);
  clock.heard({.sent = ~std::uint64_t{0}, .heard = clock_value(kT0 + 1s), .held = 0}, kT0);
  CHECK_FALSE(clock.reading(0));
  CHECK(clock.here(~std::uint64_t{0}, kT0 + 1s) == kT0 + 1s);
}
