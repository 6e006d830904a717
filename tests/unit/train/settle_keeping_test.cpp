// Tests of settle_keeping(): which jobs keep states.
#include <doctest/doctest.h>

#include "engine/train/open_keeper.h"

using namespace ds;  // NOLINT: the tests of one folder

TEST_CASE("states are kept where an agent is, and the config or an elastic job asks for them") {
  const auto slots = [](std::int64_t every, const KeepPlace& place) {
    ElasticConfig config{.every = every};
    settle_keeping(config, place);
    CHECK(config.every == every);
    return config.slots();
  };
  const KeepPlace alone{}, fixed{.has_agent = true},
      elastic{.has_agent = true, .is_elastic = true, .has_nodes = true};
  CHECK(slots(kAuto, alone) == 0);
  CHECK(slots(5, alone) == 0);
  CHECK(slots(kAuto, fixed) == 0);
  CHECK(slots(5, fixed) == 2);
  CHECK(slots(kAuto, elastic) == 4);
  CHECK(slots(5, elastic) == 4);
  CHECK(slots(0, elastic) == 0);
  CHECK(slots(kAuto, {.is_elastic = true, .has_nodes = true}) == 0);
}
