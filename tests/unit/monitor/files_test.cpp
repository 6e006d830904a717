// Tests of the run folder and its files: names, JSON, what happens to an earlier run.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/config/print.h"
#include "engine/monitor/metrics_writer.h"
#include "engine/monitor/run_folder.h"
#include "engine/monitor/run_start.h"
#include "engine/monitor/summary.h"

namespace {

namespace fs = std::filesystem;

/// A new working directory that is removed after the test.
class Folder {
 public:
  Folder() : before_(fs::current_path()) {
    std::string name = fs::temp_directory_path() / "runsXXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::current_path(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    fs::current_path(before_);
    fs::remove_all(path_);
  }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path before_, path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("without log.dir every run gets a new folder with its config inside") {
  const Folder folder;
  const ds::RunFolder first = ds::RunFolder::create({}, "tiny");
  const ds::RunFolder second = ds::RunFolder::create({}, "tiny");
  CHECK(first.path() != second.path());
  CHECK(first.path().find("/runs/tiny-2") != std::string::npos);  // the year begins with 2
  ds::TrainConfig config;
  config.log.dir = first.path();
  CHECK(text_of(first.file("config.toml")) == ds::to_toml(config));
  CHECK(first.note().empty());
}

TEST_CASE("log.dir is the run folder; an earlier run in it is moved aside, nothing is lost") {
  const Folder folder;
  ds::TrainConfig config;
  config.log.dir = folder / "out/deep";
  const ds::RunFolder first = ds::RunFolder::create(config, "tiny");
  first.write("summary.json", "first");
  std::ofstream(first.file("notes")) << "mine";
  const ds::RunFolder second = ds::RunFolder::create(config, "tiny");
  CHECK(second.path() == first.path());
  CHECK(second.note().find("previous-1") != std::string::npos);
  CHECK(text_of(second.file("previous-1/summary.json")) == "first");
  CHECK(text_of(second.file("notes")) == "mine");
  CHECK_FALSE(fs::exists(second.file("summary.json")));
  (void)ds::RunFolder::create(config, "tiny");
  CHECK(fs::exists(second.file("previous-2/config.toml")));
}

TEST_CASE("a folder that cannot be created is a config error with a hint") {
  const Folder folder;
  std::ofstream(folder / "file") << "x";
  ds::TrainConfig config;
  config.log.dir = folder / "file/run";
  try {
    (void)ds::RunFolder::create(config, "tiny");
    FAIL("no error");
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    CHECK(std::string(error.what()).find("file/run cannot be created: Not a directory") !=
          std::string::npos);
    CHECK(error.hint().find("log.dir") != std::string::npos);
  }
}

TEST_CASE("writing replaces whole files and leaves no partial file") {
  const Folder folder;
  const ds::RunFolder run = ds::RunFolder::create({}, "tiny");
  run.write("summary.json", "one");
  run.write("summary.json", "two");
  CHECK(text_of(run.file("summary.json")) == "two");
  for (const auto& file : fs::directory_iterator(run.path()))
    CHECK(file.path().extension() != ".partial");
}

TEST_CASE("metrics lines are JSON with the promised names; numbers that are not finite are null") {
  const Folder folder;
  const ds::MetricsWriter writer(folder / "metrics.jsonl");
  writer.write(ds::metrics_line({.step = 10,
                                 .loss = 5.5451774444,
                                 .learning_rate = 1e-3,
                                 .grad_norm = std::nan(""),
                                 .loss_scale = 65536,
                                 .skipped = 3,
                                 .tokens = 20480,
                                 .tokens_per_s = 18400.5,
                                 .elapsed_s = 1.25}));
  writer.write(ds::validation_line(10, "", 5.5, 1.5));
  writer.write(ds::save_line({.step = 10,
                              .bytes = 1'485'000'000'000,
                              .stall_s = 0.0125,
                              .copied_s = 0.25,
                              .flush_s = 0,
                              .written_s = 3.5,
                              .elapsed_s = 5}));
  std::ifstream file(folder / "metrics.jsonl");
  std::string first, second, third;
  std::getline(file, first);
  std::getline(file, second);
  std::getline(file, third);
  const auto step = nlohmann::json::parse(first);
  CHECK(step["step"] == 10);
  CHECK(step["loss"] == 5.5451774444);
  CHECK(step["lr"] == 1e-3);
  CHECK(step["grad_norm"].is_null());
  CHECK(step["loss_scale"] == 65536);
  CHECK(step["skipped_steps"] == 3);
  CHECK(step["tokens"] == 20480);
  CHECK(step["tokens_per_s"] == 18400.5);
  CHECK(step["elapsed_s"] == 1.25);
  CHECK(second == R"({"step":10,"validation_loss":5.5,"elapsed_s":1.5})");
  CHECK(ds::validation_line(10, "web", 5.5, 1.5) ==
        "{\"step\":10,\"validation_set\":\"web\",\"validation_loss\":5.5,\"elapsed_s\":1.5}\n");
  const auto save = nlohmann::json::parse(third);
  CHECK(save["step"] == 10);
  CHECK(save["checkpoint_bytes"] == 1'485'000'000'000);
  CHECK(save["stall_s"] == 0.0125);
  CHECK(save["copied_s"] == 0.25);
  CHECK(save["flush_s"] == 0);
  CHECK(save["written_s"] == 3.5);
  CHECK(save["elapsed_s"] == 5);
}

TEST_CASE("the summary is JSON; missing values are null") {
  ds::Summary summary;
  summary.steps = 20;
  summary.train_loss = 1.5;
  summary.skipped_steps = 4;
  summary.loss_scale = 0.5;
  summary.median_tokens_per_s = 100.5;
  summary.peak_memory_bytes = 7;
  summary.weights_hash = "ab";
  const auto json = nlohmann::json::parse(ds::summary_json(summary));
  CHECK(json["steps"] == 20);
  CHECK(json["train_loss"] == 1.5);
  CHECK(json["skipped_steps"] == 4);
  CHECK(json["loss_scale"] == 0.5);
  CHECK(json["validation_loss"].is_null());
  CHECK_FALSE(json.contains("validation_losses"));
  summary.validation_losses = {{"code", 2.5}, {"web", std::nan("")}};
  const auto sets = nlohmann::json::parse(ds::summary_json(summary))["validation_losses"];
  CHECK((sets["code"] == 2.5 && sets["web"].is_null()));
  CHECK(json["median_tokens_per_s"] == 100.5);
  CHECK(json["peak_memory_bytes"] == 7);
  CHECK(json["weights_hash"] == "ab");
  CHECK(json["sample"].is_null());
}

TEST_CASE("the median, also of the last values when there are many") {
  ds::MedianMeter meter(4);
  CHECK(meter.median() == 0.0);
  for (const double value : {5.0, 1.0, 3.0}) meter.add(value);
  CHECK(meter.median() == 3.0);
  meter.add(2.0);
  CHECK(meter.median() == 2.5);
  for (const double value : {10.0, 10.0, 10.0}) meter.add(value);
  CHECK(meter.median() == 10.0);
}

TEST_CASE("run.json: what is known before the first step") {
  const std::string text = ds::run_start_json({.started_s = 1785585600,
                                               .build = "dslaunch 0.1.0",
                                               .host = "node-1\xff",
                                               .device = "CPU",
                                               .world_size = 8,
                                               .local_ranks = 4,
                                               .parameters = 100});
  const auto json = nlohmann::json::parse(text);
  CHECK(json["started"] == "2026-08-01 12:00:00");
  CHECK(json["build"] == "dslaunch 0.1.0");
  CHECK(json["host"] == "node-1\xef\xbf\xbd");
  CHECK(json["world_size"] == 8);
  CHECK(json["local_ranks"] == 4);
}

namespace {

std::string run_json_of(const std::string& job) {
  ds::RunStart start;
  start.job = job;
  return ds::run_start_json(start);
}

}  // namespace

TEST_CASE("a later epoch continues the folder of its job, and no other folder") {
  const Folder folder;
  for (const bool has_dir : {true, false}) {
    ds::TrainConfig config;
    if (has_dir) config.log.dir = folder / "out";
    const ds::RunFolder first = ds::RunFolder::create(config, "tiny", {.job = "j1", .epoch = 0});
    CHECK_FALSE(first.is_continued());
    first.write("run.json", run_json_of("j1"));
    first.write("metrics.jsonl", "{}\n");
    const ds::RunFolder next = ds::RunFolder::create(config, "tiny", {.job = "j1", .epoch = 2});
    CHECK(next.is_continued());
    CHECK(next.path() == first.path());
    CHECK(fs::exists(next.file("metrics.jsonl")));
    const ds::RunFolder other = ds::RunFolder::create(config, "tiny", {.job = "j2", .epoch = 2});
    CHECK_FALSE(other.is_continued());
    CHECK((other.path() == first.path()) == has_dir);
    CHECK(fs::exists(first.file("previous-1/metrics.jsonl")) == has_dir);
  }
}

TEST_CASE("the job of a run.json") {
  CHECK(ds::job_of_run(run_json_of("a \"b\"")) == "a \"b\"");
  for (const char* text : {"", "{", "[]", "{}", R"({"job":1})"})
    CHECK(ds::job_of_run(text).empty());
}

TEST_CASE("the line of an epoch, and metrics that continue") {
  const Folder folder;
  const std::string path = folder / "metrics.jsonl";
  CHECK(ds::last_logged_step(path) == -1);
  ds::MetricsWriter(path).write(ds::metrics_line({.step = 41}));
  CHECK(ds::last_logged_step(path) == 41);
  ds::MetricsWriter(path, true)
      .write(ds::epoch_line({.epoch = 2,
                             .step = 40,
                             .ranks = 3,
                             .ranks_before = 4,
                             .source = "memory",
                             .moved_bytes = 7,
                             .read_bytes = 9,
                             .redone_steps = 1,
                             .met_s = 0.5,
                             .built_s = 0.75,
                             .loaded_s = 1}));
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  CHECK(second ==
        R"({"event":"epoch","epoch":2,"step":40,"ranks":3,"ranks_before":4,"source":"memory",)"
        R"("moved_bytes":7,"read_bytes":9,"redone_steps":1,"met_s":0.5,"built_s":0.75,)"
        R"("loaded_s":1})");
  CHECK(ds::last_logged_step(path) == 41);
  const std::string fresh(ds::epoch_line({.epoch = 1, .source = "new", .redone_steps = -1}).view());
  CHECK(fresh.find("redone_steps") == std::string::npos);
  CHECK(fresh.find("ranks_before") == std::string::npos);
}
