// Tests reading run folders: parts in order, damage, and folders that are not runs.
#include "engine/report/read_run.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/base/error.h"
#include "support/temp_folder.h"

using namespace ds::report;

namespace {

const std::string kLine = R"({"step":1,"loss":2.5,"elapsed_s":1})";

std::string message_of(const std::string& path) {
  try {
    read_run(path);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "";
}

}  // namespace

TEST_CASE("report: a run folder with its parts") {
  const ds::test::TempFolder folder;
  for (const char* name : {"previous-2", "previous-10", "previous-x", "previous-3"})
    std::filesystem::create_directory(folder / name);
  for (const char* name : {"previous-2", "previous-10", "previous-x"})
    folder.file(fmt::format("{}/metrics.jsonl", name), kLine + "\n");
  folder.file("metrics.jsonl", kLine + "\n");
  folder.file("config.toml", "[optimizer]\nlr = 0.001\n[log]\ndir = \"x\"\n");
  folder.file("summary.json", R"({"steps":4,"device":"CPU","phases":null,"list":[1]})");
  folder.file("run.json", "{cut");
  const RunFiles run = read_run(folder / "");
  REQUIRE(run.parts.size() == 3);
  CHECK(run.parts[0].name == "previous-2");
  CHECK(run.parts[1].name == "previous-10");
  CHECK(run.parts[2].name.empty());
  CHECK(run.parts[2].config == TextByKey{{"optimizer.lr", "0.001"}});
  CHECK(run.parts[2].summary == TextByKey{{"device", "CPU"}, {"list", "[1]"}, {"steps", "4"}});
  CHECK(run.parts[2].start.empty());
  CHECK(run.parts[2].changed.has_value());
}

TEST_CASE("report: damaged lines are counted, and a cut last line is no damage") {
  const ds::test::TempFolder folder;
  const std::string good = R"({"step":2,"loss":2.5})";
  const std::string back = R"({"step":1,"loss":2.5})";
  folder.file("metrics.jsonl",
              kLine + "\n\x01garbage\n" + good + "\n" + back + "\n\n" + R"({"step":3,"lo)");
  const RunFiles run = read_run(folder / "");
  CHECK(run.parts[0].steps.size() == 2);
  CHECK(run.parts[0].bad.count == 2);
  CHECK(run.parts[0].bad.first == "metrics.jsonl:2");
  CHECK(run.parts[0].bad.cut_end);
}

TEST_CASE("report: any cut of a file can be read") {
  const ds::test::TempFolder folder;
  const std::string whole = kLine + "\n" + R"({"step":2,"loss":2.5,"phases":{"other":1}})" + "\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    folder.file("metrics.jsonl", whole.substr(0, size));
    const RunFiles run = read_run(folder / "");
    CHECK(run.parts[0].bad.count == 0);
    CHECK(run.parts[0].steps.size() == (size >= whole.size() - 1) + (size >= kLine.size()));
  }
}

TEST_CASE("report: a line longer than a block is left out") {
  const ds::test::TempFolder folder;
  folder.file("metrics.jsonl", std::string(3 << 20, 'x') + "\n" + kLine);
  const RunFiles run = read_run(folder / "");
  CHECK(run.parts[0].steps.size() == 1);
  CHECK(run.parts[0].bad.count == 1);
}

TEST_CASE("report: what is not a run folder") {
  const ds::test::TempFolder folder;
  CHECK(message_of(folder / "none").find("none: No such file") != std::string::npos);
  CHECK(message_of(folder.file("file", "")).find("not a folder") != std::string::npos);
  CHECK(message_of(folder / "").find("has no metrics.jsonl") != std::string::npos);
  std::filesystem::create_directory(folder / "a");
  folder.file("a/metrics.jsonl", kLine);
  CHECK(message_of(folder / "").find("it contains run folders") != std::string::npos);
}
