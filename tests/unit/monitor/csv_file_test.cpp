// Tests of metrics.csv and of the figures of phases: columns, numbers, an older file.
#include "engine/monitor/csv_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/monitor/figure_files.h"
#include "engine/monitor/summary.h"

namespace {

namespace fs = std::filesystem;

ds::StepMetrics metrics_of_step(std::int64_t step) {
  ds::StepMetrics metrics{.step = step,
                          .loss = 2.5,
                          .learning_rate = 1e-3,
                          .grad_norm = std::nan(""),
                          .loss_scale = std::numeric_limits<double>::infinity(),
                          .skipped = 1,
                          .tokens = 2048,
                          .tokens_per_s = 10.5,
                          .elapsed_s = 0.25,
                          .has_phases = true,
                          .slowest = 3};
  for (std::size_t i = 0; i < ds::kStepPhases; ++i)
    metrics.phases[i] = static_cast<double>(i) + 0.00000049;
  return metrics;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the header names as many columns as every line has") {
  CHECK(ds::csv_header({.phases = true}) ==
        "step,loss,lr,grad_norm,loss_scale,skipped_steps,tokens,tokens_per_s,elapsed_s,"
        "validation_loss,slowest_rank,phase_forward,phase_backward,phase_reduce,phase_gather,"
        "phase_update,phase_offload,phase_control,phase_data,phase_save,phase_validation,"
        "phase_other\r\n");
  CHECK(ds::csv_header({}).ends_with(",elapsed_s,validation_loss\r\n"));
  CHECK(ds::csv_header({.sets = true}).ends_with(",validation_loss,validation_set\r\n"));
  ds::StepMetrics metrics = metrics_of_step(7);
  CHECK(ds::csv_line(metrics, {.phases = true}) ==
        "7,2.5,0.001,nan,inf,1,2048,10.5,0.25,,3,0,1,2,3,4,5,6,7,8,9,10\r\n");
  CHECK(ds::csv_validation_line(7, "", 1.5, 0.5, {.phases = true}) ==
        "7,,,,,,,,0.5,1.5,,,,,,,,,,,,\r\n");
  CHECK(ds::csv_validation_line(7, "web", 1.5, 0.5, {.sets = true, .phases = true}) ==
        "7,,,,,,,,0.5,1.5,web,,,,,,,,,,,,\r\n");
  metrics.has_phases = false;
  CHECK(ds::csv_line(metrics, {}) == "7,2.5,0.001,nan,inf,1,2048,10.5,0.25,\r\n");
  CHECK(ds::csv_line(metrics, {.sets = true}) == "7,2.5,0.001,nan,inf,1,2048,10.5,0.25,,\r\n");
  CHECK(ds::csv_validation_line(7, "", 1.5, 0.5, {}) == "7,,,,,,,,0.5,1.5\r\n");
}

TEST_CASE("an older metrics.csv moves to previous-N") {
  std::string name = fs::temp_directory_path() / "csvXXXXXX";
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const fs::path folder = name;
  ds::TrainConfig config;
  config.log.csv = {.on = true, .dir = folder};
  for (std::int64_t run = 1; run <= 2; ++run) {
    std::string told;
    ds::FigureFiles files(config, "unused", [&](const std::string& line) { told = line; });
    files.begin(0, 0);
    files.step(metrics_of_step(run), 8);
    CHECK((told.find("previous-1") != std::string::npos) == (run == 2));
  }
  CHECK(text_of(folder / "previous-1/metrics.csv").find("\r\n1,") != std::string::npos);
  CHECK(text_of(folder / "metrics.csv").find("\r\n2,") != std::string::npos);
  fs::remove_all(folder);
}

TEST_CASE("a line of metrics.jsonl names the phases and the slowest rank") {
  const ds::Line line = ds::metrics_line(metrics_of_step(7));
  const auto json = nlohmann::json::parse(line.view());
  CHECK(json["slowest_rank"] == 3);
  CHECK(json["phases"].size() == ds::kStepPhases);
  CHECK(json["phases"]["forward"] == 0);
  CHECK(json["phases"]["other"] == 10);
}

TEST_CASE("the summary tells of data that came late from 0.5 % on") {
  ds::PhaseSeconds phases{};
  ds::of_phase(phases, ds::StepPhase::forward) = 995;
  ds::of_phase(phases, ds::StepPhase::data) = 5;
  CHECK(ds::data_wait_line(phases).empty());
  ds::of_phase(phases, ds::StepPhase::data) = 105;
  CHECK(ds::data_wait_line(phases) == "waited for data 9.5 % of the time (105.0 of 1100.0 s)");
  ds::Summary summary;
  CHECK(nlohmann::json::parse(ds::summary_json(summary))["phases"].is_null());
  summary.phases = phases;
  CHECK(nlohmann::json::parse(ds::summary_json(summary))["phases"]["data"] == 105);
}

TEST_CASE("the phases of a clock add up to the time that passed") {
  ds::PhaseClock clock;
  const ds::Clock::time_point before = ds::Clock::now();
  clock.restart();
  const ds::Clock::time_point start = ds::Clock::now();
  for (int i = 0; i < 1000; ++i) {
    clock.enter(ds::StepPhase::forward);
    const ds::InPhase data(&clock, ds::StepPhase::data);
    CHECK(clock.now() == ds::StepPhase::data);
  }
  const ds::Clock::time_point end = ds::Clock::now();
  const ds::PhaseSeconds spent = clock.spent();
  const ds::Clock::time_point after = ds::Clock::now();
  CHECK(ds::sum_of(spent) >= ds::seconds_of(end - start));
  CHECK(ds::sum_of(spent) <= ds::seconds_of(after - before));
  CHECK(of_phase(spent, ds::StepPhase::forward) > 0);
  CHECK(of_phase(spent, ds::StepPhase::data) > 0);
  CHECK(of_phase(spent, ds::StepPhase::save) == 0);
  clock.restart();
  CHECK(of_phase(clock.spent(), ds::StepPhase::data) == 0);
  { const ds::InPhase none(nullptr, ds::StepPhase::save); }
}
