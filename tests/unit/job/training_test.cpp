// Lines of rank 0 -> steps, checkpoints, and what becomes of a wish for one.
#include "launcher/job/training.h"

#include <doctest/doctest.h>

using ds::CheckpointLine;
using ds::launcher::Training;

namespace {

std::string saved(int step, bool asked = false) {
  return ds::saved_line({.step = step,
                         .folder = "ck/step-" + std::to_string(step),
                         .bytes = 4096,
                         .asked = asked}) +
         "\n";
}

}  // namespace

TEST_CASE("steps and checkpoints are followed, whatever the cut") {
  const std::string text =
      "model    gpt2\nstep 9/40  loss 3\r" + saved(8) + "step 12/40  loss 2\nstep 13/40  lo";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    Training training("/home/me");
    for (std::size_t at = 0; at < text.size(); at += cut)
      CHECK(training.add(text.substr(at, cut)).empty());
    CHECK(training.step() == 12);
    CHECK(training.checkpoint() == "/home/me/ck/step-8");
  }
  Training fresh("/");
  CHECK(!fresh.step());
  CHECK(fresh.checkpoint().empty());
}

TEST_CASE("a job that goes on knows its checkpoint; a failed save changes nothing") {
  Training training("/home/me");
  training.add(ds::resumed_line(20, "/ck/step-20") + "\n");
  CHECK(training.step() == 20);
  training.add(ds::save_failed_line(30, "disk full") + "\n");
  CHECK(training.checkpoint() == "/ck/step-20");
  training.add(saved(40));
  CHECK(training.checkpoint() == "/home/me/ck/step-40");
}

TEST_CASE("a wish waits until rank 0 has written something, and is told its own outcome") {
  Training training("/");
  training.begin();
  CHECK(!training.ask().signal);
  const auto first = training.add("model    gpt2\n");
  REQUIRE(first.size() == 1);
  CHECK(first[0].signal);
  CHECK(!training.ask().signal);  // joins
  CHECK(training.add(saved(10)).empty());
  const auto outcome = training.add(saved(11, true));
  REQUIRE(outcome.size() == 1);
  REQUIRE(outcome[0].outcome);
  CHECK(outcome[0].outcome->step == 11);
  CHECK(outcome[0].outcome->folder == "/ck/step-11");
  CHECK(training.add(saved(12, true)).empty());  // by a signal of somebody else
  CHECK(training.ask().signal);
  const auto failed = training.add(ds::save_failed_line(13, "disk full", true) + "\n");
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].outcome->what == CheckpointLine::What::failed);
  CHECK(failed[0].outcome->details == "disk full");
}

TEST_CASE("after a restart an open wish is sent again") {
  Training training("/");
  training.add("model\n");
  CHECK(training.ask().signal);
  training.add("checkpoint: step 3 sav");
  training.begin();
  const auto news = training.add("checkpoint: step 2 resumed from /ck/step-2\n");
  REQUIRE(news.size() == 1);
  CHECK(news[0].signal);
  CHECK(training.step() == 2);
}

TEST_CASE("a line without an end takes bounded memory and is none of ours") {
  Training training("/");
  for (int i = 0; i < 1000; ++i) training.add(std::string(1000, 'x'));
  training.add("\nstep 4/5\n");
  CHECK(training.step() == 4);
}
