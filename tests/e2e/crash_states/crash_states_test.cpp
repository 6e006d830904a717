// Saves, commits, replacements, removals and set-asides that stop after every file operation.
// Whatever the disk then holds, a complete checkpoint is used and nothing else.
#include <doctest/doctest.h>

#include <cstdlib>

#include "e2e/crash_states/crash_check.h"

namespace ds::test {
namespace {

struct Scenario {
  const char* name;
  Play play;
};
const Scenario kScenarios[] = {
    {"three saves, one is kept",
     [](Run& run) {
       for (const int step : {10, 20, 30}) {
         run.save(step);
         run.thin_out(1);
       }
     }},
    {"a complete one is replaced, twice",
     [](Run& run) {
       for (const int world_size : {1, 2, 3}) run.save(40, world_size);
       run.thin_out(1);
     }},
    {"a save is given up and tried again",
     [](Run& run) {
       run.save(10);
       publish_small(run.folder(), 20, 3);
       run.folder().abandon(20);
       publish_small(run.folder(), 30, 1);  // never committed
       run.save(20);
       run.thin_out(1);
     }},
    {"a past is set aside",
     [](Run& run) {
       for (const int step : {10, 20, 30}) run.save(step);
       run.set_aside_after(10);
       run.save(20);
       run.thin_out(1);
       run.set_aside_after(20);
     }},
};

/// Returns DS_CRASH_ROUNDS, a factor for the number of states; 1 in CI.
int rounds() {
  const char* text = std::getenv("DS_CRASH_ROUNDS");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

void report(const char* what, const FileLog& log, const Outcome& outcome) {
  fmt::print("{:<45} {:>5} operations {:>8} states {:>6} faults\n", what, log.ops.size(),
             outcome.states, outcome.faults);
}

TEST_CASE("a power failure at any moment") {
  for (const Scenario& scenario : kScenarios) {
    CAPTURE(scenario.name);
    Checker checker;
    const FileLog log = log_of(scenario.play, checker.fresh("run"));
    checker.check_all(log, 3 * rounds());
    report(scenario.name, log, checker.outcome());
    INFO(checker.outcome().first_fault);
    CHECK(checker.outcome().faults == 0);
  }
}

/// Kills the run after `killed` operations and starts it again; it saves and thins out.
FileLog log_of_two_runs(Play play, const std::string& root, std::size_t killed) {
  Recorder recorder(root);
  recorder.die_after(killed);
  try {
    Run run(recorder, root + "/dir", 1);
    play(run);
  } catch (const Error&) {
    REQUIRE(recorder.died());
  }
  recorder.live_on();
  const std::vector<Promise>& promises = recorder.log().promises;
  const Promise last = promises.empty() ? Promise{} : promises.back();
  const std::int64_t seen = step_found(root + "/dir");  // a kill does not undo writes
  CHECK(seen >= last.floor);
  CHECK(seen <= last.ceiling);
  Run next(recorder, root + "/dir", 2, seen);
  next.save(seen + 5);
  next.thin_out(1);
  CHECK(recorder.missed_nothing());
  return recorder.log();
}

TEST_CASE("kill -9 at any moment, a restart, and a power failure in that") {
  for (const Scenario& scenario : kScenarios) {
    CAPTURE(scenario.name);
    Checker checker;
    const std::size_t all = log_of(scenario.play, checker.fresh("run")).ops.size();
    FileLog log;
    for (std::size_t killed = 0; killed <= all; ++killed) {
      log = log_of_two_runs(scenario.play, checker.fresh("run"), killed);
      for (int i = 0; i < 3 * rounds(); ++i) {
        const std::size_t later = log.ops.size() - killed;
        checker.check(log, killed + checker.random()() % (later + 1), i == 0 ? 0 : checker.some());
      }
    }
    report(scenario.name, log, checker.outcome());
    INFO(checker.outcome().first_fault);
    CHECK(checker.outcome().faults == 0);
  }
}

TEST_CASE("the check can fail: without its syncs a save does not survive") {
  for (const bool of_folders : {false, true}) {
    Checker checker([&](std::size_t, const FileOp& sync) { return sync.is_folder == of_folders; });
    const FileLog log = log_of(kScenarios[0].play, checker.fresh("run"));
    checker.check_all(log, 1);
    report(of_folders ? "without syncs of folders" : "without syncs of files", log,
           checker.outcome());
    CHECK(checker.outcome().faults > 0);
  }
}

}  // namespace
}  // namespace ds::test
