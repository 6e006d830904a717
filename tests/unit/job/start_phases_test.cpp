// Tests when a phase of the start counts as begun by all ranks.
#include "launcher/job/start_phases.h"

#include <doctest/doctest.h>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kStart{1h};

}  // namespace

TEST_CASE("a phase is reached when the last rank has begun it") {
  StartPhases phases;
  phases.begin(2);
  CHECK(phases.newest().empty());
  CHECK(!phases.take(0, "met", kStart + 5s));
  CHECK(!phases.take(0, "met", kStart + 9s));  // once is enough
  phases.take(0, "loaded", kStart + 6s);
  CHECK(!phases.reached("met"));
  CHECK(phases.take(1, "met", kStart + 3s));
  CHECK(!phases.take(1, "met", kStart + 4s));
  CHECK(phases.reached("met") == kStart + 5s);
  CHECK(!phases.reached("loaded"));
  CHECK(phases.newest() == "met");
  phases.take(1, "loaded", kStart + 8s);
  CHECK(phases.reached("loaded") == kStart + 8s);
  CHECK(phases.newest() == "loaded");
  phases.begin(2);
  CHECK(!phases.reached("met"));
}

TEST_CASE("ranks that do not exist and too many names change nothing") {
  StartPhases phases;
  phases.take(0, "met", kStart);
  phases.begin(1);
  phases.take(-1, "met", kStart);
  phases.take(1, "met", kStart);
  CHECK(!phases.reached("met"));
  for (std::size_t i = 0; i < StartPhases::kMaxPhases; ++i)
    phases.take(0, "p" + std::to_string(i), kStart + std::chrono::seconds(i));
  phases.take(0, "met", kStart + 1h);
  CHECK(!phases.reached("met"));
  CHECK(phases.newest() == "p15");
}
