// Tests which soft limit a rank gets from the launcher's and the node's limits.
#include <doctest/doctest.h>

#include <algorithm>

#include "launcher/agent/process_settings.h"

using namespace ds::launcher;

static_assert(RLIM_INFINITY == UINT64_MAX);

TEST_CASE("a limit is raised up to the node's hard limit, and never lowered") {
  CHECK(soft_limit({1024, 65536}, 4096, false) == 4096);
  CHECK(soft_limit({1024, 2048}, 4096, false) == 2048);
  CHECK(soft_limit({1024, 65536}, 64, false) == 1024);
  CHECK(soft_limit({1024, RLIM_INFINITY}, UINT64_MAX, false) == RLIM_INFINITY);
  CHECK(soft_limit({RLIM_INFINITY, RLIM_INFINITY}, 64, false) == RLIM_INFINITY);
}

TEST_CASE("cores are what the launcher's shell says") {
  CHECK(soft_limit({RLIM_INFINITY, RLIM_INFINITY}, 0, true) == 0);
  CHECK(soft_limit({0, RLIM_INFINITY}, UINT64_MAX, true) == RLIM_INFINITY);
  CHECK(soft_limit({0, 4096}, UINT64_MAX, true) == 4096);
}

TEST_CASE("a process's own limits change nothing, unknown names neither") {
  const auto own = limits_of_this_process();
  CHECK(own.size() == 5);
  CHECK(limits_to_set(own).empty());
  CHECK(limits_to_set({{"nonsense", 1}, {"", 0}}).empty());
  rlimit now{};
  REQUIRE(::getrlimit(RLIMIT_CORE, &now) == 0);
  const auto other = limits_to_set({{"core", now.rlim_cur == 0 ? now.rlim_max : 0}});
  CHECK(other.size() == (now.rlim_max == 0 ? 0U : 1U));
}
