// Tests of resuming: a run that is interrupted anywhere uses the same numbers as an uninterrupted
// one.
#include <limits>
#include <random>

#include "engine/base/error.h"
#include "engine/schedule/update_control.h"
#include "trace_file.h"

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// What one step used, or whether it ended the run.
struct Taken {
  double scale = 0;
  ds::ScheduledNumbers scheduled{};
  ds::UpdateNumbers update{};
  bool is_fatal = false;
};

bool same(const Taken& a, const Taken& b) {
  return a.scale == b.scale && a.scheduled == b.scheduled && ds::same_update(a.update, b.update) &&
         a.update.grad_norm == b.update.grad_norm && a.is_fatal == b.is_fatal;
}

Taken take(ds::UpdateControl& control, bool overflow) {
  Taken taken{.scale = control.loss_scale(), .scheduled = control.scheduled()};
  const ds::GradientFacts facts{
      .loss = 1, .norm = overflow ? kInf : 3 * taken.scale * 7, .tokens = 7};
  try {
    taken.update = control.finish_step(facts, taken.scheduled);
  } catch (const ds::Error&) {
    taken.is_fatal = true;
  }
  return taken;
}

/// Runs all steps and restarts after those in `breaks`, each time from the state alone.
std::vector<Taken> run(const ds::TrainConfig& config, const std::vector<bool>& overflows,
                       const std::vector<bool>& breaks) {
  std::vector<Taken> taken;
  auto control = std::make_unique<ds::UpdateControl>(config);
  for (std::size_t step = 0; step < overflows.size(); ++step) {
    taken.push_back(take(*control, overflows[step]));
    if (taken.back().is_fatal) break;
    if (!breaks[step]) continue;
    const ds::UpdateControl::State state = control->state();
    control = std::make_unique<ds::UpdateControl>(config);
    control->resume(state);
  }
  return taken;
}

std::vector<bool> by_chance(std::mt19937& random, std::size_t size, unsigned one_in) {
  std::vector<bool> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = random() % one_in == 0;
  return values;
}

void check_breaks(const ds::TrainConfig& config, const std::vector<bool>& overflows,
                  std::mt19937& random) {
  const std::vector<Taken> whole = run(config, overflows, std::vector<bool>(overflows.size()));
  for (int round = 0; round < 4; ++round) {
    const std::vector<Taken> broken =
        run(config, overflows, by_chance(random, overflows.size(), 1 + round * 2));
    REQUIRE(broken.size() == whole.size());
    for (std::size_t step = 0; step < whole.size(); ++step) {
      CAPTURE(step);
      REQUIRE(same(broken[step], whole[step]));
    }
  }
}

}  // namespace

TEST_CASE("the traces of the loss scale, interrupted anywhere") {
  std::mt19937 random(1);
  for (const TraceCase& trace : read_traces("loss_scale.txt")) {
    CAPTURE(trace.title);
    std::vector<bool> overflows;
    for (const std::vector<std::string>& row : trace.rows) overflows.push_back(row[0] == "1");
    check_breaks(trace.config, overflows, random);
  }
}

TEST_CASE(
    "schedules, powers of betas and loss scales with random overflows, interrupted anywhere") {
  std::mt19937 random(2);
  for (const char* keys :
       {"precision.dtype=fp16 precision.loss_scale.init_power=9 precision.loss_scale.window=3 "
        "schedule.type=cosine schedule.warmup=5 schedule.total=60",
        "precision.dtype=fp16 precision.loss_scale.init_power=9 precision.loss_scale.window=2 "
        "precision.loss_scale.hysteresis=3 precision.loss_scale.consecutive=true "
        "precision.loss_scale.at_min=continue schedule.type=wsd schedule.total=60",
        "precision.dtype=fp16 precision.loss_scale.static=64 precision.on_nonfinite=skip",
        "precision.on_nonfinite=skip schedule.type=linear schedule.warmup=9 schedule.total=70",
        "precision.on_nonfinite=skip schedule.type=onecycle schedule.first_steps=11"}) {
    CAPTURE(keys);
    for (unsigned one_in = 2; one_in < 9; ++one_in)
      check_breaks(config_of_case(keys), by_chance(random, 60, one_in), random);
  }
}

TEST_CASE("every part of a state is needed: without one the numbers differ") {
  const ds::TrainConfig config = config_of_case(
      "precision.dtype=fp16 precision.loss_scale.init_power=9 precision.loss_scale.window=3 "
      "schedule.type=linear schedule.total=50 schedule.warmup=40");
  const auto after = [&](const auto& spoil) {
    ds::UpdateControl first(config);
    for (const bool overflow : {false, true, true, false, false}) take(first, overflow);
    ds::UpdateControl::State state = first.state();
    spoil(state);
    ds::UpdateControl second(config);
    second.resume(state);
    std::vector<Taken> taken;
    for (const bool overflow : {false, true, false, false, false, false})
      taken.push_back(take(second, overflow));
    return taken;
  };
  const std::vector<Taken> right = after([](auto&) {});
  const auto differs = [&](const auto& spoil) {
    const std::vector<Taken> taken = after(spoil);
    return !std::equal(right.begin(), right.end(), taken.begin(), same);
  };
  using State = ds::UpdateControl::State;
  CHECK_FALSE(differs([](State&) {}));
  CHECK(differs([](State& state) { state.updates += 1; }));
  CHECK(differs([](State& state) { state.scale.scale *= 2; }));
  CHECK(differs([](State& state) { state.scale.hysteresis += 1; }));
  CHECK(differs([](State& state) { state.scale.iteration += 1; }));
  CHECK(differs([](State& state) { state.scale.last_overflow -= 1; }));
}

TEST_CASE("a scale of another precision is ignored") {
  const ds::TrainConfig fp16 = config_of_case("precision.dtype=fp16");
  const ds::TrainConfig fixed =
      config_of_case("precision.dtype=fp16 precision.loss_scale.static=64");
  const ds::TrainConfig bf16 = config_of_case("precision.dtype=bf16");
  const double first = ds::UpdateControl(fp16).loss_scale();
  const auto resumed = [](const ds::TrainConfig& from, const ds::TrainConfig& to) {
    ds::UpdateControl before(from);
    take(before, false);
    ds::UpdateControl after(to);
    after.resume(before.state());
    CHECK(after.updates() == 1);
    return after.loss_scale();
  };
  CHECK(resumed(bf16, fp16) == first);
  CHECK(resumed(fp16, bf16) == 1);
  CHECK(resumed(fixed, fp16) == first);
  CHECK(resumed(fp16, fixed) == 64);
}
