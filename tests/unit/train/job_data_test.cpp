// Tests of steps_of_epochs(): from the start, and from a state that other batches have made.
#include "engine/train/job_data.h"

#include <doctest/doctest.h>

namespace {

std::int64_t steps_of(double epochs, std::int64_t global, const ds::TrainingState& from = {}) {
  ds::TrainConfig config;
  config.train.epochs = epochs;
  config.batch.global = global;
  return ds::steps_of_epochs(config, 100, from);
}

}  // namespace

TEST_CASE("steps of epochs: all samples are read, the last step may read more") {
  CHECK(steps_of(1, 10) == 10);
  CHECK(steps_of(1, 11) == 10);
  CHECK(steps_of(0.05, 5) == 1);
  CHECK(steps_of(0.051, 5) == 2);
  CHECK(steps_of(0.001, 64) == 1);
  CHECK(steps_of(1e9, 1 << 30) == 94);
}

TEST_CASE("steps of epochs: a resume with the same batch gives the same number") {
  for (const double epochs : {0.07, 0.5, 1.0, 2.3}) {
    for (std::int64_t global = 1; global < 40; ++global) {
      const std::int64_t all = steps_of(epochs, global);
      for (std::int64_t step = 0; step <= all; ++step)
        CHECK(steps_of(epochs, global, {.step = step, .next_sample = step * global}) == all);
    }
  }
}

TEST_CASE("steps of epochs: a resume with another batch reads what is left") {
  CHECK(steps_of(2, 10, {.step = 20, .next_sample = 100}) == 30);
  CHECK(steps_of(2, 50, {.step = 20, .next_sample = 100}) == 22);
  CHECK(steps_of(2, 1, {.step = 20, .next_sample = 100}) == 120);
  CHECK(steps_of(1, 10, {.step = 20, .next_sample = 105}) == 20);
}
