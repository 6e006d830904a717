// Tests how a training is followed: news of rank 0 -> step, checkpoints, outcomes of requests.
#include "launcher/job/training.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using ds::CheckpointLine;
using ds::launcher::RankNews;
using ds::launcher::Training;

namespace {

RankNews told(const std::string& line) { return {.phases = {}, .checkpoints = {line}}; }

RankNews saved(int step, bool asked = false) {
  return told(ds::saved_line(
      {.step = step, .folder = "ck/step-" + std::to_string(step), .bytes = 4096, .asked = asked}));
}

}  // namespace

TEST_CASE("steps, kept steps and checkpoints are followed") {
  Training training("/home/me");
  CHECK(!training.step());
  CHECK(training.kept() == -1);
  CHECK(training.checkpoint().empty());
  CHECK(!training.take({.step = 12, .steps = 40, .kept = 10, .phases = {}, .checkpoints = {}}));
  CHECK(!training.take(saved(8)));
  CHECK(training.step() == 12);
  CHECK(training.kept() == 10);
  CHECK(training.checkpoint() == "/home/me/ck/step-8");
}

TEST_CASE("a resumed job has its step and checkpoint; a failed save changes nothing") {
  Training training("/home/me");
  training.take(told(ds::resumed_line(20, "/ck/step-20")));
  CHECK(training.step() == 20);
  training.take(told(ds::save_failed_line(30, "disk full")));
  CHECK(training.checkpoint() == "/ck/step-20");
  training.take(saved(40));
  CHECK(training.checkpoint() == "/home/me/ck/step-40");
  training.take(told("no line of a checkpoint"));
  CHECK(training.checkpoint() == "/home/me/ck/step-40");
}

TEST_CASE("a step after the resumed one may come in the same frame") {
  Training training("/");
  RankNews news = told(ds::resumed_line(20, "/ck/step-20"));
  news.step = 21;
  training.take(news);
  CHECK(training.step() == 21);
}

TEST_CASE("an epoch that begins has no step yet: the last one's may be later") {
  Training training("/");
  training.begin();
  training.take({.step = 12, .steps = 40, .kept = 10, .phases = {}, .checkpoints = {}});
  training.begin();
  CHECK(!training.step());
  CHECK(training.kept() == 10);
}

TEST_CASE("facts say whether the states outlive the ranks; those of no training say nothing") {
  const auto of = [](const char* keeps, const char* saves) {
    return ds::launcher::states_told(
        fmt::format("keeps states = {}%nsaves states = {}", keeps, saves));
  };
  CHECK(!of("no", "no").may_pause);
  CHECK(of("yes", "no").may_pause);
  CHECK(!of("yes", "no").saves_at_stop);
  CHECK(of("no", "yes").may_pause);
  CHECK(of("no", "yes").saves_at_stop);
  CHECK(of("no", "not on signals").may_pause);
  CHECK(!of("no", "not on signals").saves_at_stop);
  CHECK(ds::launcher::states_told("").may_pause);
  CHECK(ds::launcher::states_told("").saves_at_stop);
}

TEST_CASE("while the job waits for hosts, a request is answered with what there is") {
  Training training("/");
  CHECK(training.while_waiting("1 of 2 nodes is ready", false) ==
        "no ranks run, because the job waits for hosts (1 of 2 nodes is ready); ask again when the "
        "ranks run");
  training.take(saved(10));
  training.take({.step = 12, .steps = 40, .kept = 12, .phases = {}, .checkpoints = {}});
  CHECK(training.while_waiting("1 of 2 nodes is ready", true) ==
        "no ranks run, because the job waits for hosts (1 of 2 nodes is ready); step 12 was kept "
        "in memory; the newest checkpoint is /ck/step-10; ask again when the ranks run, or end the "
        "job with dslaunch kill, which saves what is kept");
}

TEST_CASE("a request waits for the start of the ranks, and gets its own outcome") {
  Training training("/");
  CHECK(!training.ask());
  CHECK(training.begin());
  CHECK(!training.ask());  // joins
  CHECK(!training.take(saved(10)));
  const auto outcome = training.take(saved(11, true));
  REQUIRE(outcome);
  CHECK(outcome->step == 11);
  CHECK(outcome->folder == "/ck/step-11");
  CHECK(!training.take(saved(12, true)));  // by a signal of a user
  CHECK(training.ask());
  const auto failed = training.take(told(ds::save_failed_line(13, "disk full", true)));
  REQUIRE(failed);
  CHECK(failed->what == CheckpointLine::What::failed);
  CHECK(failed->details == "disk full");
}

TEST_CASE("after a restart an open request is sent again, a closed one is not") {
  Training training("/");
  CHECK(!training.begin());
  CHECK(training.ask());
  CHECK(training.begin());
  CHECK(training.take(saved(3, true)));
  CHECK(!training.begin());
}
