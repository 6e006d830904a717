// Deadlines of the whole job, signals before them and signals passed on, ranks that end early.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

TEST_CASE("the deadline ends the job with 124 and names who still ran") {
  JobState job = started_job(2, 2, {.timeout = 900ms});
  job.on(exited(2, 0), kT0);
  CHECK(job.wake_at() == kT0 + 900ms);
  CHECK(text_of(job.on(Tick{}, kT0 + 900ms)) == "stop 0 10000, stop 1 10000");
  for (const int rank : {0, 1, 3}) job.on(signaled(rank, SIGTERM), kT0 + 1s);
  job.on(AgentDone{0}, kT0 + 1s);
  CHECK(text_of(job.on(AgentDone{1}, kT0 + 1s)) ==
        "close 1, finish 124, deadline of 0,1,3, 3 after it");
}

TEST_CASE("a deadline that passes before the ranks begin") {
  JobState job(placement_of(2, 1), {.timeout = 500ms});
  job.on(Start{}, kT0);
  job.on(AgentGreeted{1}, kT0);
  CHECK(text_of(job.on(Tick{}, kT0 + 500ms)) == "close 0, kill 1");
  CHECK(text_of(job.on(AgentDone{1}, kT0 + 500ms)) == "close 1, finish 124, deadline of ");
}

TEST_CASE("a deadline that passes while the job waits to restart names no ranks") {
  JobState job = started_job(1, 1, {.timeout = 900ms, .max_restarts = 2});
  for (const auto at : {kT0, kT0 + 100ms}) {
    job.on(exited(0, 1), at);
    job.on(AgentCleared{0}, at);
    job.on(AgentReady{0, 1}, at);
  }
  job.on(Tick{}, kT0 + 900ms);
  CHECK(job.cause().reason == "the job was waiting for restart 2 of 2");
}

TEST_CASE("the deadline counts from the start of the job, over all epochs") {
  JobState job = started_job(1, 1, {.timeout = 900ms, .max_restarts = 5});
  job.on(exited(0, 1), kT0 + 500ms);
  job.on(AgentCleared{0}, kT0 + 500ms);
  job.on(AgentReady{0, 1}, kT0 + 500ms);
  CHECK(text_of(job.on(Tick{}, kT0 + 900ms)) == "stop 0 10000");
}

TEST_CASE("the signal before the deadline comes once, before TERM") {
  JobState job = started_job(1, 2, {.timeout = 900ms, .pre_signal = PreSignal{SIGUSR1, 400ms}});
  CHECK(job.wake_at() == kT0 + 500ms);
  CHECK(text_of(job.on(Tick{}, kT0 + 500ms)) == "signal SIGUSR1, say");
  CHECK(text_of(job.on(Tick{}, kT0 + 600ms)).empty());
  CHECK(text_of(job.on(Tick{}, kT0 + 900ms)) == "stop 0 10000");
}

TEST_CASE("a signal before the deadline that comes due between two epochs is sent in the next one") {
  JobState job = started_job(
      1, 1, {.timeout = 9s, .pre_signal = PreSignal{SIGUSR1, 4s}, .max_restarts = 5});
  job.on(exited(0, 1), kT0 + 4s);
  CHECK(text_of(job.on(Tick{}, kT0 + 5s)) == "beat");
  job.on(AgentCleared{0}, kT0 + 5s);
  job.on(AgentReady{0, 1}, kT0 + 5s);
  CHECK(job.wake_at() <= kT0 + 6s);
  const auto actions = job.on(Tick{}, kT0 + 6s);
  CHECK(text_of(actions) == "beat, signal SIGUSR1, say");
  CHECK(said_by(actions) == "3 s until the deadline: sending SIGUSR1 to all ranks\n");
}

TEST_CASE("signals that are passed on do nothing else") {
  JobState job = started_job(1, 2, {.forwarded_signals = {SIGUSR1, SIGHUP}});
  CHECK(text_of(job.on(SignalReceived{SIGUSR1}, kT0)) == "signal SIGUSR1");
  CHECK(text_of(job.on(SignalReceived{SIGHUP}, kT0)) == "signal SIGHUP");
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0)) == "stop 0 10000");
  CHECK(text_of(job.on(SignalReceived{SIGUSR1}, kT0)) == "signal SIGUSR1");

  JobState early(placement_of(1, 1), {.forwarded_signals = {SIGUSR1}});
  early.on(Start{}, kT0);
  CHECK(early.on(SignalReceived{SIGUSR1}, kT0).empty());
}

TEST_CASE("ranks that run on long after the last other ended are named once") {
  JobState job = started_job(2, 2, {.exit_skew = {.after = 800ms}});
  job.on(exited(0, 0), kT0);
  job.on(exited(2, 0), kT0 + 100ms);
  CHECK(job.wake_at() == kT0 + 900ms);
  CHECK(text_of(job.on(Tick{}, kT0 + 900ms)) == "say");
  CHECK(job.wake_at() == kT0 + 1s);
  job.on(exited(1, 0), kT0 + 950ms);
  job.on(exited(3, 0), kT0 + 950ms);
  job.on(AgentDone{0}, kT0 + 950ms);
  CHECK(text_of(job.on(AgentDone{1}, kT0 + 950ms)) == "close 1, flush");
}

TEST_CASE("ranks that run on can be stopped") {
  JobState job = started_job(1, 2, {.exit_skew = {.after = 800ms, .stop = true}});
  job.on(exited(0, 0), kT0);
  CHECK(text_of(job.on(Tick{}, kT0 + 800ms)) == "stop 0 10000");
  job.on(signaled(1, SIGTERM), kT0 + 800ms);
  CHECK(text_of(job.on(AgentDone{0}, kT0 + 800ms)) == "close 0, finish 124, skew of 1, 1 after it");
}

TEST_CASE("a failure after an early end is a failure, not skew") {
  JobState job = started_job(1, 2, {.exit_skew = {.after = 800ms}});
  job.on(exited(0, 0), kT0);
  job.on(exited(1, 3), kT0 + 100ms);
  CHECK(text_of(job.on(Tick{}, kT0 + 900ms)).empty());
}

TEST_CASE("suspension stops the clocks of deadlines too") {
  JobState job = started_job(1, 1, {.timeout = 900ms});
  job.on(SignalReceived{SIGTSTP}, kT0 + 100ms);
  job.on(Continued{}, kT0 + 60s);
  CHECK(job.wake_at() == kT0 + 60s + 800ms);
}

TEST_CASE("silence is noticed when the timeout is over, not at the next heartbeat") {
  JobState job = started_job(2, 1, {.node_timeout = 3s});
  job.on(AgentHeard{1}, kT0 + 500ms);
  for (auto at = kT0 + 1s; at < kT0 + 3500ms; at = job.wake_at()) {
    job.on(AgentHeard{0}, at);
    CHECK(job.wake_at() <= at + 750ms);
    CHECK(text_of(job.on(Tick{}, at)).find("close") == std::string::npos);
  }
  CHECK(job.wake_at() == kT0 + 3500ms);
  CHECK(text_of(job.on(Tick{}, kT0 + 3500ms)).find("close 1") != std::string::npos);
}
