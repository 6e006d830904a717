// A million random events: what a job does to its agents is right in every order of them.
#include "unit/fleet/random_job.h"

#include <doctest/doctest.h>

#include "unit/fleet/random_runs.h"

using namespace ds::launcher;

TEST_CASE("random jobs") { check_random_worlds("random jobs", 1'000'000, play_job); }
