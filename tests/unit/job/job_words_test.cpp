// What JobState says on standard error, one test a message; the words of the verdict are in
// verdict_test.cpp.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

std::vector<Host> one_spare() {
  return {{.name = "s0", .user = {}, .port = 0, .slots = 1, .place = {}}};
}

}  // namespace

TEST_CASE("nodes that are missing at the start are named after 5 s, then ever more rarely") {
  JobState job(placement_of(4, 1), {.node_timeout = 0ms, .start_timeout = 1h});
  job.on(Start{}, kT0);
  job.on(AgentGreeted{1}, kT0);
  job.on(AgentReady{1, 0}, kT0);
  std::string said;
  for (auto at = job.wake_at(); at <= kT0 + 5s; at = job.wake_at())
    said += said_by(job.on(Tick{}, at));
  CHECK(said == "still waiting for 3 of 4 nodes: n[0,2-3]\n");
  CHECK(let_pass(job, {}, kT0 + 14999ms).empty());
  CHECK(let_pass(job, {}, kT0 + 15s) == "say");
  CHECK(let_pass(job, {}, kT0 + 155s) == "say, say, say");
}

TEST_CASE("who interrupts the start is told who is missing") {
  JobState job(placement_of(3, 1), {});
  job.on(Start{}, kT0);
  job.on(SignalReceived{SIGINT}, kT0);
  CHECK(cause_text(job.placement(), job.cause()) ==
        "interrupted: still waiting for 3 of 3 nodes: n[0-2]");
}

TEST_CASE("a deadline before the ranks begin says who is missing") {
  JobState job(placement_of(2, 1), {.timeout = 500ms});
  job.on(Start{}, kT0);
  job.on(AgentGreeted{1}, kT0);
  job.on(AgentReady{1, 0}, kT0);
  job.on(Tick{}, kT0 + 500ms);
  CHECK(cause_text(job.placement(), job.cause()) ==
        "the deadline of 500 ms has passed: still waiting for 1 of 2 nodes: n0");
}

TEST_CASE("who takes whose place, and why") {
  JobState job(placement_of(1, 1), {.max_restarts = 1}, one_spare());
  job.on(Start{}, kT0);
  job.on(AgentGreeted{1}, kT0);
  CHECK(said_by(job.on(AgentLost{0, "n0: refused"}, kT0)) ==
        "s0 takes the place of n0 (n0: refused)\n");
  JobState back = started_job(1, 1, {.max_restarts = 1});
  CHECK(said_by(back.on(AgentLost{0, "n0: reset"}, kT0)) ==
        "node n0 is lost: reset; restart 1 of 1\n");
  back.on(AgentGreeted{1}, kT0);
  CHECK(said_by(back.on(AgentSwept{1, 0}, kT0)) == "n0 is back in its place\n");
}

TEST_CASE("a spare that cannot be used") {
  JobState job(placement_of(1, 1), {}, one_spare());
  job.on(Start{}, kT0);
  CHECK(said_by(job.on(AgentLost{1, "s0: no route"}, kT0)) ==
        "a spare host cannot be used: s0: no route\n");
}

TEST_CASE("an earlier failure that is reported late") {
  JobState job = started_job(1, 2, {.max_restarts = 3});
  RankExited late = exited(1, 9), known = exited(0, 1);
  known.time.there = 2000;
  late.time.there = 1000;
  job.on(known, kT0);
  CHECK(said_by(job.on(late, kT0)) == "rank 1 on n0: exited 9; this came first\n");
}

TEST_CASE("what is waited for while ranks stop, and for leftover processes") {
  JobState slow = started_job(1, 2, {.grace = 4s});
  slow.on(exited(0, 1), kT0);
  CHECK(said_by(slow.on(Tick{}, kT0 + 1s)) ==
        "rank 0 on n0: exited 1; waiting up to 3 s for 1 rank to stop\n");
  JobState lost = started_job(2, 1, {});
  lost.on(AgentLost{1, "n1: reset"}, kT0);
  lost.on(signaled(0, SIGTERM), kT0);
  lost.on(AgentDone{0}, kT0);
  CHECK(said_by(lost.on(Tick{}, kT0 + 1s)) ==
        "node n1 is lost: reset; retrying for up to 4 s to clean up leftover processes\n");
}

TEST_CASE("the signal before the deadline") {
  JobState job = started_job(1, 2, {.timeout = 900ms, .pre_signal = PreSignal{SIGUSR1, 400ms}});
  CHECK(said_by(job.on(Tick{}, kT0 + 500ms)) ==
        "400 ms until the deadline: sending SIGUSR1 to all ranks\n");
}

TEST_CASE("every node that cannot be used is in one table") {
  JobState job(placement_of(2, 1), {});
  job.on(Start{}, kT0);
  job.on(AgentLost{1, "n1: refused", "connection"}, kT0);
  CHECK(said_by(job.on(AgentLost{0, "n0: unknown host key", "host key"}, kT0)) ==
        "2 of 2 nodes cannot be used:\n  HOSTS  STAGE       REASON\n"
        "  n0     host key    unknown host key\n  n1     connection  refused\n");
}

TEST_CASE("control bytes in the reason of a loss do not reach the terminal") {
  JobState job(placement_of(1, 1), {}, one_spare());
  job.on(Start{}, kT0);
  job.on(AgentGreeted{1}, kT0);
  CHECK(said_by(job.on(AgentLost{0, "n0: it said: \x1b[31mred"}, kT0)) ==
        "s0 takes the place of n0 (n0: it said: ?[31mred)\n");
}
