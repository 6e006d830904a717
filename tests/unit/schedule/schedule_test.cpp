// Tests of learning rates against values computed by hand.
#include "engine/schedule/schedule.h"

#include <doctest/doctest.h>

using ds::learning_rate;
using ds::ScheduleConfig;
using ds::ScheduleType;

TEST_CASE("warm-up rises linearly, and no step of it trains at rate 0") {
  for (const ScheduleType type :
       {ScheduleType::constant, ScheduleType::linear, ScheduleType::cosine}) {
    const ScheduleConfig schedule{.type = type, .warmup = 4, .total = 12, .min_lr = 0.1};
    CHECK(learning_rate(schedule, 1.0, 1) == 0.25);
    CHECK(learning_rate(schedule, 1.0, 2) == 0.5);
    CHECK(learning_rate(schedule, 1.0, 4) == 1.0);
  }
}

TEST_CASE("constant stays, also after the total") {
  const ScheduleConfig schedule{
      .type = ScheduleType::constant, .warmup = 2, .total = 5, .min_lr = 0.0};
  CHECK(learning_rate(schedule, 3e-4, 3) == 3e-4);
  CHECK(learning_rate(schedule, 3e-4, 500) == 3e-4);
}

TEST_CASE("linear falls to min_lr at the total and stays there") {
  const ScheduleConfig schedule{
      .type = ScheduleType::linear, .warmup = 4, .total = 12, .min_lr = 0.2};
  CHECK(learning_rate(schedule, 1.0, 6) == doctest::Approx(0.8).epsilon(1e-14));   // 2 of 8 steps
  CHECK(learning_rate(schedule, 1.0, 8) == doctest::Approx(0.6).epsilon(1e-14));   // half
  CHECK(learning_rate(schedule, 1.0, 11) == doctest::Approx(0.3).epsilon(1e-14));  // 7 of 8
  CHECK(learning_rate(schedule, 1.0, 12) == 0.2);
  CHECK(learning_rate(schedule, 1.0, 13) == 0.2);
}

TEST_CASE("cosine is at 3/4 of its fall after 2/3 of its steps") {
  const ScheduleConfig schedule{
      .type = ScheduleType::cosine, .warmup = 0, .total = 6, .min_lr = 0.0};
  CHECK(learning_rate(schedule, 2.0, 2) ==
        doctest::Approx(1.5).epsilon(1e-14));  // 1 + cos 60 degrees
  CHECK(learning_rate(schedule, 2.0, 3) == doctest::Approx(1.0).epsilon(1e-14));
  CHECK(learning_rate(schedule, 2.0, 4) == doctest::Approx(0.5).epsilon(1e-14));
  CHECK(learning_rate(schedule, 2.0, 6) == 0.0);
}

TEST_CASE("a warm-up as long as the schedule divides nothing by zero") {
  const ScheduleConfig schedule{
      .type = ScheduleType::cosine, .warmup = 5, .total = 5, .min_lr = 0.1};
  CHECK(learning_rate(schedule, 1.0, 5) == 1.0);
  CHECK(learning_rate(schedule, 1.0, 6) == 0.1);
}
