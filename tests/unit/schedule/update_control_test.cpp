// Tests of unscaling, clipping and skipping, step by step, with numbers computed by hand.
#include "engine/schedule/update_control.h"

#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "trace_file.h"

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// fp16 that starts at 8 and doubles after two clean steps; lr 0.01, rising over four updates.
ds::TrainConfig fp16_config(const std::string& more = "") {
  return config_of_case(
      "precision.dtype=fp16 precision.loss_scale.init_power=3 precision.loss_scale.window=2 "
      "precision.loss_scale.hysteresis=1 schedule.type=linear schedule.warmup=4 " +
      more);
}

ds::UpdateNumbers finish(ds::UpdateControl& control, const ds::GradientFacts& facts) {
  return control.finish_step(facts, control.scheduled());
}

}  // namespace

TEST_CASE("where the scale grows, the gradients are divided by the scale that made them") {
  const ds::TrainConfig config = fp16_config("optimizer.clip=0");
  ds::UpdateControl control(config);
  // Step 3 completes the first window: made with 8, divided by 8. Step 4 is made with 16.
  for (const double used : {8.0, 8.0, 8.0, 16.0, 16.0, 32.0}) {
    CHECK(control.loss_scale() == used);
    const ds::UpdateNumbers now = finish(control, {.loss = 1, .norm = 3 * used * 5, .tokens = 5});
    CHECK(now.numbers.grad_scale == static_cast<float>(1.0 / (used * 5)));
    CHECK(now.grad_norm == doctest::Approx(3.0).epsilon(1e-15));
  }
}

TEST_CASE("clipping acts on the unscaled norm") {
  const ds::TrainConfig config = fp16_config("optimizer.clip=2");
  ds::UpdateControl control(config);
  const ds::UpdateNumbers large = finish(control, {.loss = 1, .norm = 4 * 8 * 10, .tokens = 10});
  CHECK(large.numbers.grad_scale == static_cast<float>(2 / (4 + 1e-6) / 80));
  const ds::UpdateNumbers small = finish(control, {.loss = 1, .norm = 1 * 8 * 10, .tokens = 10});
  CHECK(small.numbers.grad_scale == static_cast<float>(1.0 / 80));
}

TEST_CASE("a step that is not finite is skipped: no schedule, no powers, half the scale") {
  const ds::TrainConfig config = fp16_config();
  ds::UpdateControl control(config);
  const ds::GradientFacts fine{.loss = 1, .norm = 8, .tokens = 1};
  CHECK_FALSE(finish(control, fine).skip);
  const ds::ScheduledNumbers before = control.scheduled();
  CHECK(before.lr == doctest::Approx(0.005));
  for (const ds::GradientFacts& bad :
       {ds::GradientFacts{.loss = 1, .norm = 8, .non_finite = 1, .tokens = 1},
        ds::GradientFacts{.loss = std::nan(""), .norm = 8, .tokens = 1},
        ds::GradientFacts{.loss = 1, .norm = kInf, .tokens = 1}}) {
    const double scale = control.loss_scale();
    CHECK(finish(control, bad).skip);
    CHECK(control.loss_scale() == scale / 2);
    CHECK(control.scheduled() == before);
  }
  CHECK(control.updates() == 1);
  CHECK(control.skipped() == 3);
  CHECK_THROWS_AS((void)finish(control, {.loss = kInf, .tokens = 1}), ds::Error);  // at scale 1
}

TEST_CASE("bias corrections and rates follow the number of updates") {
  const ds::TrainConfig config =
      config_of_case("schedule.type=constant precision.on_nonfinite=skip");
  ds::UpdateControl control(config);
  finish(control, {.loss = 1, .norm = 1, .tokens = 1});
  finish(control, {.loss = kInf, .norm = 1, .tokens = 1});
  CHECK(control.loss_scale() == 1);  // fp32 has no loss scale
  CHECK(control.scheduled().bias_correction1 == doctest::Approx(1 - 0.9 * 0.9).epsilon(1e-15));
  CHECK(control.scheduled().bias_correction2 == doctest::Approx(1 - 0.95 * 0.95).epsilon(1e-15));
}

TEST_CASE("the cycle moves beta1 and its power") {
  const ds::TrainConfig config =
      config_of_case("schedule.type=onecycle schedule.first_steps=4 schedule.min_lr=0.001");
  ds::UpdateControl control(config);
  finish(control, {.loss = 1, .norm = 1, .tokens = 1});
  // The second update is at i = 2, so three quarters of the way up.
  const double beta1 = 0.9 - 0.1 * 0.75;
  CHECK(control.scheduled().bias_correction1 == doctest::Approx(1 - beta1 * beta1).epsilon(1e-14));
  const ds::UpdateNumbers now = finish(control, {.loss = 1, .norm = 1, .tokens = 1});
  CHECK(now.numbers.beta1 == static_cast<float>(beta1));
  CHECK(now.numbers.momentum == now.numbers.beta1);
  CHECK(now.numbers.beta2 == 0.95F);
}
