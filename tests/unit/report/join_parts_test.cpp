// Tests the joining of the parts of a resumed run.
#include "engine/report/join_parts.h"

#include <doctest/doctest.h>

#include "unit/report/lines.h"

using namespace ds::report;
using ds::test::part_of;

TEST_CASE("report: a resume replaces the steps that were lost") {
  RunPart first = part_of(1, 12, 5), second = part_of(9, 20, 3);
  first.validations = {{{8, kNoNumber, 17}, 4, ""}, {{12, kNoNumber, 25}, 4, ""}};
  second.validations = {{{12, kNoNumber, 8}, 3, ""}};
  first.saves = {{{8, kNoNumber, 17}, 100, 1, 2}};
  const JoinedRun run = join_parts(std::vector{first, second});
  REQUIRE(run.steps.size() == 20);
  CHECK(run.steps[7].of(Figure::loss) == 5);
  CHECK(run.steps[8].of(Figure::loss) == 3);
  CHECK(run.steps[8].at.tokens == 900);    // behind those of step 8
  CHECK(run.steps[8].at.elapsed_s == 26);  // behind all 24 s of the first part
  CHECK(run.steps.back().at.tokens == 2000);
  REQUIRE(run.resumes.size() == 1);
  CHECK(run.resumes[0].step == 8);
  CHECK(run.resumes[0].lost == 4);
  REQUIRE(run.validations.size() == 2);
  CHECK(run.validations[1].loss == 3);
  CHECK(run.validations[1].at.elapsed_s == 32);
  CHECK(run.validations[1].at.tokens == 1200);
  CHECK(run.saves.size() == 1);
  CHECK(run.saves[0].at.tokens == 800);
}

TEST_CASE("report: a run that starts again replaces everything") {
  const JoinedRun run = join_parts(std::vector{part_of(1, 5, 5), part_of(1, 3, 1)});
  CHECK(run.steps.size() == 3);
  CHECK(run.steps[0].at.tokens == 100);
  REQUIRE(run.resumes.size() == 1);
  CHECK(run.resumes[0].step == 0);
}

TEST_CASE("report: a part without a step changes nothing") {
  const JoinedRun run = join_parts(std::vector{part_of(1, 5), RunPart{}});
  CHECK(run.steps.size() == 5);
  CHECK(run.resumes.empty());
  CHECK(join_parts({}).steps.empty());
}

TEST_CASE("report: tokens between and behind logged steps") {
  RunPart part;
  part.steps = {ds::test::step_line(1, 1, 100), ds::test::step_line(10, 1, 1000)};
  CHECK(tokens_at(part.steps, 10) == 1000);
  CHECK(tokens_at(part.steps, 12) == 1200);
  CHECK(tokens_at(part.steps, 5) == 500);
  CHECK(tokens_at(part.steps, 0) == 0);
}
