// Tests of the loss scale against traces of its definition and a table made by hand.
#include "engine/schedule/loss_scale.h"

#include "engine/base/error.h"
#include "trace_file.h"

namespace {

ds::PrecisionConfig fp16(const ds::LossScaleConfig& scale) {
  ds::PrecisionConfig precision;
  precision.dtype = ds::Precision::fp16;
  precision.loss_scale = scale;
  return precision;
}

/// Returns the scale that each step uses.
std::vector<double> scales(const ds::PrecisionConfig& precision, const std::string& steps) {
  ds::LossScaleState state = ds::first_loss_scale(precision);
  std::vector<double> used;
  for (const char step : steps) {
    used.push_back(state.scale);
    state = ds::next_loss_scale(precision, state, step == 'x');
  }
  return used;
}

}  // namespace

TEST_CASE("every step of the traces has the defined scale") {
  for (const TraceCase& trace : read_traces("loss_scale.txt")) {
    CAPTURE(trace.title);
    const ds::PrecisionConfig& precision = trace.config.precision;
    ds::LossScaleState state = ds::first_loss_scale(precision);
    for (std::size_t step = 0; step < trace.rows.size(); ++step) {
      CAPTURE(step);
      const std::vector<std::string>& row = trace.rows[step];
      REQUIRE(state.scale == std::stod(row[1]));
      if (row[2] == "fatal") {
        CHECK_THROWS_AS((void)ds::next_loss_scale(precision, state, row[0] == "1"), ds::Error);
        break;
      }
      state = ds::next_loss_scale(precision, state, row[0] == "1");
      REQUIRE(state.scale == std::stod(row[2]));
      REQUIRE(state.hysteresis == std::stoll(row[3]));
    }
  }
}

TEST_CASE("by hand: two overflows halve the scale, a window doubles it for the next step") {
  const ds::PrecisionConfig precision = fp16({.init_power = 3, .window = 2});
  // Steps 1 and 2 overflow (the first only uses up the hysteresis). Steps 3 and 4 are clean. Step 5
  // completes the window after the overflow: its gradients were made with scale 4 and are divided
  // by 4. Step 6 uses 8.
  CHECK(scales(precision, "xx.....") == std::vector<double>{8, 8, 4, 4, 4, 8, 8});
}

TEST_CASE("a used-up hysteresis stays used up until the window restores it") {
  const ds::PrecisionConfig precision = fp16({.init_power = 4, .window = 100});
  CHECK(scales(precision, "x.x.x.") == std::vector<double>{16, 16, 16, 8, 8, 4});
  const ds::PrecisionConfig consecutive =
      fp16({.init_power = 4, .window = 100, .consecutive = true});
  CHECK(scales(consecutive, "x.x.xx.") == std::vector<double>{16, 16, 16, 16, 16, 16, 8});
}

TEST_CASE("a fixed scale stays, and other types have none") {
  CHECK(scales(fp16({.fixed = 128}), "xx.x") == std::vector<double>{128, 128, 128, 128});
  ds::PrecisionConfig bf16;
  bf16.dtype = ds::Precision::bf16;
  CHECK(scales(bf16, "x.x") == std::vector<double>{1, 1, 1});
}
