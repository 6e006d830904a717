// Tests the data of a report: differences, names, escapes, and a size that does not grow.
#include "engine/report/report_data.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unit/report/lines.h"

using namespace ds::report;
using ds::test::part_of;

namespace {

ReportRun run_of(std::string name, RunPart part) {
  return {std::move(name), {.path = "/runs/x", .parts = {std::move(part)}}};
}

}  // namespace

TEST_CASE("report: differences of configuration") {
  RunPart a = part_of(1, 3), b = part_of(1, 3);
  a.config = {{"lr", "1"}, {"same", "2"}, {"only.a", "3"}};
  b.config = {{"lr", "4"}, {"same", "2"}};
  ReportData data(2, 0);
  data.add(run_of("a", a));
  data.add(run_of("b", b));
  const auto json = nlohmann::json::parse(data.json());
  CHECK(json["differences"].dump() ==
        R"([{"key":"lr","values":["1","4"]},{"key":"only.a","values":["3",null]}])");
}

TEST_CASE("report: hostile names reach the page as text only") {
  RunPart part = part_of(1, 3);
  part.config = {{"</script><script>alert(1)</script>", "<img onerror=alert(2)>"}};
  part.validations = {{{1, 0, 0}, 1, "</script>\xff"}};
  ReportData data(1, 0);
  data.add(run_of("<img src=x onerror=alert(1)>\xff", part));
  const std::string text = data.json();
  CHECK(text.find('<') == std::string::npos);
  CHECK(text.find('>') == std::string::npos);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["runs"][0]["name"] == "<img src=x onerror=alert(1)>\xef\xbf\xbd");
}

TEST_CASE("report: phases, and how often each rank was the slowest") {
  RunPart part = part_of(1, 10);
  for (std::size_t i = 0; i < 10; ++i) {
    part.steps[i].slowest = i < 7 ? 3 : 0;
    part.steps[i].phases[0] = 0.5F;
  }
  ReportData data(1, 0);
  data.add(run_of("a", part));
  const auto phases = nlohmann::json::parse(data.json())["runs"][0]["phases"];
  CHECK(phases["slowest"].dump() == "[[3,7],[0,3]]");
  CHECK(phases["phases"].size() == 1);
  CHECK(phases["phases"][0]["mean"] == 0.5);
}

TEST_CASE("report: ten long runs are less than 2 MB") {
  ReportData data(10, 0);
  for (int run = 0; run < 10; ++run) {
    RunPart part = part_of(1, 5000);
    for (std::size_t i = 0; i < part.steps.size(); ++i) {
      StepLine& line = part.steps[i];
      line.figures.fill(0.123456789 * static_cast<double>(i));
      line.phases.fill(0.0123456F);
      line.slowest = static_cast<int>(i % 64);
      line.at.elapsed_s += 0.123456;
      part.validations.push_back({line.at, 1.23456789, fmt::format("set {}", i % 40)});
      part.saves.push_back({line.at, 1e9, 0.123456, 1.23456});
    }
    data.add(run_of(fmt::format("run {}", run), std::move(part)));
  }
  CHECK(data.has_steps());
  CHECK(data.json().size() < 2000000);
}

TEST_CASE("report: names are as long as it takes") {
  CHECK(distinct_names({"/runs/a", "/runs/b"}) == std::vector<std::string>{"a", "b"});
  CHECK(distinct_names({"/x/a/run", "/x/b/run", "/y/c"}) ==
        std::vector<std::string>{"a/run", "b/run", "c"});
  CHECK(distinct_names({"/x/a", "/x/a"}) == std::vector<std::string>{"a", "a"});
  CHECK(distinct_names({"/"}).size() == 1);
}
