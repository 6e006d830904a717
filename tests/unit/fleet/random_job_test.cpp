// A million random events: what a job does to its agents is right in every order of them.
#include "unit/fleet/random_job.h"

#include <doctest/doctest.h>

#include "unit/fleet/random_runs.h"

using namespace ds::launcher;

TEST_CASE("random jobs") {
  check_random_worlds("random jobs", 1'000'000, [](std::uint64_t seed, std::uint64_t& events) {
    return play_job(seed, events);
  });
}

TEST_CASE("random elastic jobs") {
  check_random_worlds("random elastic jobs", 1'000'000,
                      [](std::uint64_t seed, std::uint64_t& events) {
                        return play_job(seed, events, /*elastic=*/true);
                      });
}
