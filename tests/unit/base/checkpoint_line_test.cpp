// Tests of checkpoint status lines: written lines are parsed back, other lines are not.
#include "engine/base/checkpoint_line.h"

#include <doctest/doctest.h>

using What = ds::CheckpointLine::What;

TEST_CASE("a save is one line that is parsed back") {
  ds::SavedCheckpoint saved{.step = 40,
                            .folder = "/scratch/run (old)/step-00000040",
                            .bytes = 1'503'238'553,
                            .stall_s = 0.0124,
                            .written_s = 3.1};
  CHECK(ds::saved_line(saved) ==
        "checkpoint: step 40 saved in /scratch/run (old)/step-00000040 (1.4 GiB, stall 12 ms, "
        "written in 3.1 s)");
  ds::CheckpointLine expected{.what = What::saved,
                              .step = 40,
                              .folder = saved.folder,
                              .details = "1.4 GiB, stall 12 ms, written in 3.1 s"};
  CHECK(ds::parse_checkpoint_line(ds::saved_line(saved)) == expected);
  saved.asked = expected.asked = true;
  CHECK(ds::parse_checkpoint_line(ds::saved_line(saved)) == expected);
}

TEST_CASE("lines of a failed save and of a resume") {
  CHECK(ds::save_failed_line(7, "rank 3: disk full\nhere") ==
        "checkpoint: step 7 failed: rank 3: disk full?here");
  for (const bool asked : {false, true}) {
    const auto failed = ds::parse_checkpoint_line(ds::save_failed_line(7, "rank 3: full", asked));
    REQUIRE(failed);
    CHECK(failed->what == What::failed);
    CHECK(failed->step == 7);
    CHECK(failed->asked == asked);
    CHECK(failed->details == "rank 3: full");
  }
  const auto resumed = ds::parse_checkpoint_line(ds::resumed_line(0, "ck/step-00000000"));
  REQUIRE(resumed);
  CHECK(resumed->what == What::resumed);
  CHECK(resumed->folder == "ck/step-00000000");
}

TEST_CASE("other lines are not checkpoint lines") {
  for (const char* line :
       {"", "checkpoint: step ", "checkpoint: step x saved in a (b)",
        "checkpoint: step -1 failed: a", "checkpoint: step 4", "checkpoint: step 4 saved in ",
        "checkpoint: step 4 saved in a", "checkpoint: step 4 saved in  (b)",
        "checkpoint: step 4 saved in a (b", "checkpoint: step 4 failed",
        "checkpoint: step 4 failed, later: a", "checkpoint: step 4 resumed from ",
        "step  4/40  loss 3.1", " checkpoint: step 4 failed: a",
        "checkpoint: step 99999999999999999999 failed: a"})
    CHECK_MESSAGE(!ds::parse_checkpoint_line(line), line);
}
