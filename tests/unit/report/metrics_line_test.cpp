// Tests lines of metrics.jsonl: kinds, numbers that are not finite, damage, unknown keys.
#include "engine/report/metrics_line.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "engine/report/run_part.h"

using namespace ds::report;

TEST_CASE("report: a step's line") {
  const MetricsLine line = parse_metrics_line(
      R"({"step":7,"loss":2.5,"lr":0.001,"grad_norm":null,"loss_scale":1024,"skipped_steps":2,)"
      R"("tokens":4096,"tokens_per_s":100.5,"elapsed_s":3.5,"slowest_rank":3,)"
      R"("phases":{"forward":0.5,"step":9,"other":0.25},"new_key":[1,{"loss":9}]})");
  const auto* step = std::get_if<StepLine>(&line);
  REQUIRE(step != nullptr);
  CHECK(step->at.step == 7);
  CHECK(step->at.tokens == 4096);
  CHECK(step->at.elapsed_s == 3.5);
  CHECK(step->of(Figure::loss) == 2.5);
  CHECK(std::isnan(step->of(Figure::grad_norm)));
  CHECK(step->of(Figure::loss_scale) == 1024);
  CHECK(step->of(Figure::skipped) == 2);
  CHECK(step->slowest == 3);
  CHECK(step->phases[0] == 0.5F);
  CHECK(step->phases[ds::kStepPhases - 1] == 9.25F);  // a phase that is not known is `other`
}

TEST_CASE("report: a loss that is null is a step without a loss") {
  const MetricsLine line = parse_metrics_line(R"({"step":1,"loss":null})");
  REQUIRE(std::holds_alternative<StepLine>(line));
  CHECK(std::isnan(std::get<StepLine>(line).of(Figure::loss)));
  CHECK(std::get<StepLine>(line).slowest == -1);
}

TEST_CASE("report: validations and checkpoints") {
  const MetricsLine named = parse_metrics_line(
      R"({"step":200,"validation_loss":1.9,"validation_set":"<b>","elapsed_s":31})");
  REQUIRE(std::holds_alternative<ValidationLine>(named));
  CHECK(std::get<ValidationLine>(named).set == "<b>");
  CHECK(std::get<ValidationLine>(named).loss == 1.9);
  const MetricsLine save = parse_metrics_line(
      R"({"step":200,"checkpoint_bytes":1486,"stall_s":0.01,"copied_s":0.1,"written_s":1.5})");
  REQUIRE(std::holds_alternative<SaveLine>(save));
  CHECK(std::get<SaveLine>(save).bytes == 1486);
  CHECK(std::get<SaveLine>(save).written_s == 1.5);
  CHECK(std::holds_alternative<OtherLine>(parse_metrics_line(R"({"step":3,"note":1})")));
}

TEST_CASE("report: damaged lines") {
  for (const char* text :
       {"", "{", "[1]", "7", "null", R"({"step":1,"loss":2.5)", R"({"loss":2.5})",
        R"({"step":0,"loss":1})", R"({"step":-4,"loss":1})", R"({"step":1e300,"loss":1})",
        R"({"step":null,"loss":1})", R"({"step":"1","loss":1})", "\xff\xfe", R"({"step":1}{)",
        R"({"step":1,"loss":1e999})"})
    CHECK_MESSAGE(std::holds_alternative<BrokenLine>(parse_metrics_line(text)), text);
  const std::string deep(100000, '[');
  CHECK(std::holds_alternative<BrokenLine>(parse_metrics_line(R"({"step":1,"x":)" + deep)));
}

TEST_CASE("report: the line of an epoch begins a part, in which steps may begin again") {
  const char* const epoch = R"({"event":"epoch","epoch":1,"step":2,"ranks":3,"source":"memory"})";
  CHECK(std::holds_alternative<EpochLine>(parse_metrics_line(epoch)));
  CHECK(!std::holds_alternative<EpochLine>(parse_metrics_line(R"({"event":"other","step":1})")));
  PartLines lines("metrics.jsonl");
  for (const char* const line : {R"({"step":2,"loss":1})", R"({"step":3,"loss":2})", "broken",
                                 epoch, R"({"step":3,"loss":2})", R"({"step":3,"loss":2})"})
    lines.add(line);
  const std::vector<RunPart> parts = lines.take();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].steps.size() == 2);
  CHECK(parts[1].steps.size() == 1);
  CHECK(parts[0].bad.count == 0);
  CHECK(parts[1].bad.count == 2);
  CHECK(parts[1].bad.first == "metrics.jsonl:3");
}
