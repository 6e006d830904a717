// Tests of DeepSpeed's schedules and wsd at every step of the traces of their definitions.
#include "engine/schedule/schedule.h"
#include "trace_file.h"

namespace {

/// The tables are rounded to 17 digits, and each value is a few roundings away from them.
doctest::Approx near(const std::string& number) {
  return doctest::Approx(std::stod(number)).epsilon(1e-13);
}

ds::ScheduleConfig schedule_of(const std::string& overrides) {
  return config_of_case(overrides).schedule;
}

}  // namespace

TEST_CASE("rates and momenta follow the definitions") {
  for (const TraceCase& trace : read_traces("schedules.txt")) {
    CAPTURE(trace.title);
    for (const std::vector<std::string>& row : trace.rows) {
      const std::int64_t step = std::stoll(row[0]);
      CAPTURE(step);
      const ds::TrainConfig& config = trace.config;
      REQUIRE(ds::learning_rate(config.schedule, config.optimizer.lr, step) == near(row[1]));
      const ds::Momenta now = ds::momenta(config.schedule, config.optimizer, step);
      REQUIRE(now.beta1 == near(row[2]));
      REQUIRE(now.beta2 == near(row[3]));
      REQUIRE(now.momentum == near(row[4]));
    }
  }
}

TEST_CASE(
    "by hand: DeepSpeed's first two steps use the lowest rate, the clean numbering does not") {
  const std::string base = "schedule.type=warmup schedule.warmup=4 schedule.warmup_type=linear ";
  const ds::ScheduleConfig deepspeed = schedule_of(base + "schedule.origin=deepspeed");
  const ds::ScheduleConfig clean = schedule_of(base);
  const double expected_deepspeed[] = {0, 0, 0.25, 0.5, 0.75, 1, 1};
  const double expected_clean[] = {0.25, 0.5, 0.75, 1, 1, 1, 1};
  for (int step = 1; step <= 7; ++step) {
    CHECK(ds::learning_rate(deepspeed, 1.0, step) == expected_deepspeed[step - 1]);
    CHECK(ds::learning_rate(clean, 1.0, step) == expected_clean[step - 1]);
  }
}

TEST_CASE("a cosine whose total is its warm-up ends at its floor (DeepSpeed 8142)") {
  const ds::ScheduleConfig schedule = schedule_of(
      "schedule.type=warmup_cosine schedule.warmup=10 schedule.total=10 "
      "schedule.cos_min_ratio=0.1");
  for (const int step : {10, 11, 1000}) {
    CHECK(ds::learning_rate(schedule, 2.0, step) == doctest::Approx(0.2).epsilon(1e-15));
  }
}

TEST_CASE("a warm-up without its own peak ends at the optimizer's rate (DeepSpeed 8171)") {
  const ds::ScheduleConfig schedule = schedule_of("schedule.type=warmup schedule.warmup=3");
  for (const double lr : {0.1, 0.2}) CHECK(ds::learning_rate(schedule, lr, 50) == lr);
}

TEST_CASE("stairs change the cycle, and no rounding drops one (DeepSpeed 8179)") {
  const std::string base =
      "schedule.type=onecycle schedule.origin=deepspeed schedule.first_steps=9 "
      "schedule.second_steps=6 ";
  const ds::ScheduleConfig smooth = schedule_of(base);
  const ds::ScheduleConfig stairs = schedule_of(base + "schedule.first_stairs=3");
  CHECK(ds::learning_rate(smooth, 9.0, 2) == 1.0);
  CHECK(ds::learning_rate(stairs, 9.0, 2) == 0.0);
  CHECK(ds::learning_rate(stairs, 9.0, 4) == doctest::Approx(3.0).epsilon(1e-15));
  CHECK(ds::learning_rate(stairs, 9.0, 10) == 9.0);  // the peak, i + 1 = 9
  CHECK(ds::learning_rate(stairs, 9.0, 12) == doctest::Approx(6.0).epsilon(1e-15));
}
