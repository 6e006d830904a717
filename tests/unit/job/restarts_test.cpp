// All ranks begin again: when, how often, and what stays.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const JobPolicy kTwice{.max_restarts = 2};

/// All agents say Cleared and Ready; returns what the last Ready brings.
std::string begin_again(JobState& job, int nodes, ds::Clock::time_point at) {
  for (int i = 0; i < nodes; ++i) job.on(AgentCleared{i}, at);
  std::string text;
  for (int i = 0; i < nodes; ++i)
    text = text_of(job.on(AgentReady{i, static_cast<std::uint16_t>(5000 + i)}, at));
  return text;
}

}  // namespace

TEST_CASE("a rank that fails restarts all; the agents stay, the ranks keep their numbers") {
  JobState job = started_job(2, 2, kTwice);
  CHECK(text_of(job.on(exited(3, 7), kT0)) == "say, stop 0 10000, stop 1 10000");
  job.on(signaled(0, SIGTERM), kT0);
  job.on(signaled(1, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentCleared{0}, kT0)).empty());
  job.on(signaled(2, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentCleared{1}, kT0)) == "spec 0, spec 1");
  CHECK(job.placement().epoch == 1);
  CHECK(text_of(job.on(AgentReady{1, 0}, kT0)).empty());
  CHECK(text_of(job.on(AgentReady{0, 4711}, kT0)) == "go 4711");
  for (int rank = 0; rank < 4; ++rank) CHECK(job.on(exited(rank, 0), kT0 + 1s).empty());
  CHECK(text_of(job.on(AgentCleared{1}, kT0 + 1s)).empty());
  CHECK(text_of(job.on(AgentCleared{0}, kT0 + 1s)) == "dismiss 0, dismiss 1");
  CHECK(goodbye(job, {0, 1}) == "close 1, flush");
}

TEST_CASE("when all restarts are used the failure is the verdict") {
  JobState job = started_job(1, 1, kTwice);
  for (int epoch = 0; epoch < 2; ++epoch) {
    job.on(exited(0, 5), kT0);
    CHECK(begin_again(job, 1, kT0 + 1s) == "go 5000");
  }
  CHECK(job.on(exited(0, 6), kT0).empty());
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(goodbye(job, {0}, kT0) == "close 0, finish 6, rank 0");
}

TEST_CASE("what would fail again, and what asks for it, is not restarted") {
  JobState never = started_job(1, 2, kTwice);
  CHECK(text_of(never.on(exited(0, 93), kT0)) == "stop 0 10000");
  never.on(signaled(1, SIGTERM), kT0);
  CHECK(text_of(never.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(goodbye(never, {0}, kT0) == "close 0, finish 93, rank 0, 1 after it");

  JobState missing = started_job(1, 1, kTwice);
  missing.on(RankExited{0, {ds::ExitStatus::exited(127), "cannot run x: not found", {}}}, kT0);
  CHECK(text_of(missing.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(goodbye(missing, {0}, kT0) == "close 0, finish 127, rank 0");
}

TEST_CASE("what the ranks of an epoch do after its failure is nobody's failure") {
  JobState job = started_job(1, 3, kTwice);
  job.on(exited(0, 5), kT0);
  CHECK(job.on(exited(1, 93), kT0).empty());
  CHECK(job.on(exited(2, 6), kT0).empty());
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "spec 0");
}

TEST_CASE("a rank that ended well before another failed begins again too") {
  JobState job = started_job(2, 1, kTwice);
  job.on(exited(0, 0), kT0);
  CHECK(job.on(AgentCleared{0}, kT0).empty());
  job.on(exited(1, 1), kT0);
  CHECK(text_of(job.on(AgentCleared{1}, kT0)) == "spec 0, spec 1");
}

TEST_CASE("Ctrl-C while ranks are stopped for a restart ends the job") {
  JobState job = started_job(1, 2, kTwice);
  job.on(exited(0, 5), kT0);
  CHECK(job.on(SignalReceived{SIGINT}, kT0).empty());
  job.on(signaled(1, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(goodbye(job, {0}, kT0) == "close 0, finish 130, signal 2, 1 after it");
}

TEST_CASE("Ctrl-C between epochs leaves at once") {
  JobState job = started_job(2, 1, kTwice);
  job.on(exited(0, 5), kT0);
  job.on(signaled(1, SIGTERM), kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentCleared{1}, kT0);  // Spec is sent
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0)) == "kill 0, kill 1");
  job.on(AgentDone{0}, kT0);
  CHECK(text_of(job.on(AgentDone{1}, kT0)) == "close 1, finish 143, signal 15");
}

TEST_CASE("ranks that ignore TERM are killed before the next epoch, and do not hold it for ever") {
  JobState job = started_job(2, 1, {.grace = 1s, .max_restarts = 1});
  job.on(exited(0, 5), kT0);
  job.on(AgentCleared{0}, kT0);
  CHECK(let_pass(job, {0, 1}, kT0 + 3s) == "kill 1");
  CHECK(let_pass(job, {0, 1}, kT0 + 8s) == "close 1, open 2");
  CHECK(text_of(job.on(AgentGreeted{2}, kT0 + 8s)) == "sweep 2");
  CHECK(text_of(job.on(AgentSwept{2, 1}, kT0 + 8s)) == "say, say, spec 0, spec 1 to 2");
}

TEST_CASE("how long a restart took is counted from the failure to the start of the last rank") {
  JobState job = started_job(1, 2, {.max_restarts = 1});
  job.on(exited(0, 5), kT0 + 1s);
  job.on(signaled(1, SIGTERM), kT0 + 1s);
  CHECK(begin_again(job, 1, kT0 + 1s) == "go 5000");
  job.on(RankStarted{0, 10}, kT0 + 1030ms);
  job.on(RankStarted{1, 11}, kT0 + 1042ms);
  job.on(exited(0, 0), kT0 + 2s);
  job.on(exited(1, 0), kT0 + 2s);
  job.on(AgentCleared{0}, kT0 + 2s);
  job.on(AgentDone{0}, kT0 + 2s);
  const auto actions = job.on(OutputWritten{}, kT0 + 9s);
  const auto& verdict = std::get<Conclude>(actions.back()).verdict;
  REQUIRE(verdict.restarts.size() == 1);
  CHECK(verdict.restarts[0].took == 42ms);
  CHECK(verdict.restarts[0].why == "rank 0 on n0: exited 5");
  CHECK(verdict.ran == 2s);
}

TEST_CASE("restarts in a row wait longer and longer, not after an epoch that ran for a minute") {
  JobState job = started_job(1, 1, {.node_timeout = 0ms, .max_restarts = 9});
  auto at = kT0;
  const auto fail_after = [&](std::chrono::milliseconds ran, std::chrono::milliseconds wait) {
    at += ran;
    let_pass(job, {0}, at);
    job.on(exited(0, 5), at);
    job.on(AgentCleared{0}, at);
    let_pass(job, {0}, at + wait - 1ms);
    CHECK((job.placement().epoch > 0 && job.phase_name() == "starting") == (wait == 0ms));
    if (wait > 0ms) CHECK(let_pass(job, {0}, at + wait) == "spec 0");
    at += wait;
    job.on(AgentReady{0, 4000}, at);
    CHECK(job.phase_name() == "running");
  };
  fail_after(1s, 0ms);
  fail_after(1s, 1s);
  fail_after(1s, 2s);
  fail_after(1s, 4s);
  fail_after(60s, 0ms);
  fail_after(59s, 1s);
  CHECK(restart_delay(5) == 16s);
  CHECK(restart_delay(6) == 30s);
  CHECK(restart_delay(1000) == 30s);
}

TEST_CASE("a rank that was told to end leaves its node time to end too: one restart for both") {
  JobState job = started_job(2, 1, kTwice);
  CHECK(said_by(job.on(exited(1, 143), kT0)) ==
        "rank 1 on n1: exited 143; restart 1 of 2 in 1 s\n");
  job.on(exited(0, 143), kT0);
  CHECK(text_of(job.on(AgentCleared{0}, kT0)).empty());
  CHECK(text_of(job.on(AgentCleared{1}, kT0)).empty());
  CHECK(text_of(job.on(AgentLost{1, "gone"}, kT0 + 200ms)) == "close 1, open 2");
  job.on(AgentGreeted{2}, kT0 + 3s);
  CHECK(text_of(job.on(AgentSwept{2, 0}, kT0 + 3s)) == "say, spec 0, spec 1 to 2");
}

TEST_CASE("the line of a restart says how long it waits; a stop ends the wait") {
  JobState job = started_job(1, 1, {.max_restarts = 3});
  CHECK(said_by(job.on(exited(0, 5), kT0)) == "rank 0 on n0: exited 5; restart 1 of 3\n");
  CHECK(begin_again(job, 1, kT0) == "go 5000");
  CHECK(said_by(job.on(exited(0, 5), kT0)) == "rank 0 on n0: exited 5; restart 2 of 3 in 1 s\n");
  CHECK(job.on(AgentCleared{0}, kT0).empty());
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "dismiss 0");
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0, finish 130, signal 2");
}
