// Events and a clock go in, actions come out: no process, no sleep.
#include "launcher/job/job_state.h"

#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;
using namespace std::chrono_literals;

}  // namespace

TEST_CASE("no rank runs before every node is ready") {
  JobState job(placement_of(2, 2), {});
  CHECK(text_of(job.on(Start{}, kT0)) == "open 0, open 1");
  CHECK(text_of(job.on(AgentGreeted{1}, kT0)) == "spec 1");
  CHECK(text_of(job.on(AgentReady{1, 0}, kT0)).empty());
  CHECK(text_of(job.on(AgentGreeted{0}, kT0)) == "spec 0");
  CHECK(text_of(job.on(AgentReady{0, 4711}, kT0)) == "go 4711");
}

TEST_CASE("a job whose ranks all end with 0 ends with 0 once every agent has said goodbye") {
  JobState job = started_job(2, 1);
  CHECK(text_of(job.on(exited(1, 0), kT0)).empty());
  CHECK(text_of(job.on(AgentDone{1}, kT0)) == "close 1");
  CHECK(text_of(job.on(exited(0, 0), kT0 + 1s)).empty());
  CHECK(text_of(job.on(AgentDone{0}, kT0 + 1s)) == "close 0, flush");
  CHECK(text_of(job.on(AgentDone{0}, kT0 + 1s)).empty());
}

TEST_CASE(
    "the first failing rank decides the exit code, even if others die later with other codes") {
  JobState job = started_job(2, 2);
  CHECK(text_of(job.on(exited(3, 200), kT0)) == "stop 0 10000, stop 1 10000");
  CHECK(text_of(job.on(signaled(0, SIGTERM), kT0)).empty());
  CHECK(text_of(job.on(exited(1, 7), kT0)).empty());
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0");
  CHECK(text_of(job.on(signaled(2, SIGKILL), kT0)).empty());
  CHECK(text_of(job.on(AgentDone{1}, kT0)) == "close 1, finish 200, rank 3, 3 after it");
}

TEST_CASE("a rank that stops slowly is named while the job waits, then killed, then given up") {
  JobState job = started_job(1, 2, {.grace = 4s});
  job.on(exited(0, 1), kT0);
  CHECK(job.wake_at() == kT0 + 1s);
  CHECK(text_of(job.on(Tick{}, kT0 + 1s)) == "beat, say");
  for (auto at = kT0 + 2s; at < kT0 + 11s; at += 1s) {
    job.on(AgentHeard{0}, at);
    CHECK(text_of(job.on(Tick{}, at)) == (at == kT0 + 6s ? "beat, kill 0" : "beat"));
  }
  job.on(AgentHeard{0}, kT0 + 11s);
  CHECK(text_of(job.on(Tick{}, kT0 + 11s)) ==
        "beat, close 0, finish 1, rank 0, 1 after it, unanswered 0");
}

TEST_CASE("every node that cannot be used is named, and no rank starts") {
  JobState job(placement_of(4, 1), {});
  job.on(Start{}, kT0);
  CHECK(text_of(job.on(AgentLost{2, "n2: refused", "connection"}, kT0)) == "close 2");
  job.on(AgentGreeted{3}, kT0);
  job.on(AgentReady{3, 0}, kT0);
  CHECK(text_of(job.on(AgentLost{0, "n0: unknown host key", "host key"}, kT0)) == "close 0");
  job.on(AgentGreeted{1}, kT0);
  CHECK(text_of(job.on(AgentReady{1, 0}, kT0)) == "say, kill 1, kill 3");
  CHECK(text_of(job.on(AgentDone{1}, kT0)) == "close 1");
  CHECK(text_of(job.on(AgentDone{3}, kT0)) == "close 3, finish 69, bad 0,2");
}

TEST_CASE("nodes that get nowhere are named when nobody has got further for the start timeout") {
  JobState job(placement_of(3, 1), {.start_timeout = 30s});
  job.on(Start{}, kT0);
  job.on(AgentGreeted{0}, kT0 + 20s);
  job.on(AgentReady{0, 1}, kT0 + 20s);
  let_pass(job, {0}, kT0 + 49999ms);
  CHECK(let_pass(job, {0}, kT0 + 50s) == "close 1, close 2, say, kill 0");
}

TEST_CASE("a lost node is a failure like any other") {
  JobState job = started_job(2, 2);
  CHECK(text_of(job.on(AgentLost{1, "n1: connection reset"}, kT0)) ==
        "close 1, open 2, stop 0 10000");
  job.on(signaled(0, SIGTERM), kT0);
  job.on(signaled(1, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0");
  job.on(AgentLost{2, "n1: refused"}, kT0);
  CHECK(text_of(job.on(Tick{}, kT0)).empty());
  JobState swept = started_job(2, 2);
  swept.on(AgentLost{1, "n1: connection reset"}, kT0);
  CHECK(text_of(swept.on(AgentGreeted{2}, kT0)) == "sweep 2");
  swept.on(AgentDone{0}, kT0);
  CHECK(text_of(swept.on(AgentSwept{2, 3}, kT0)) == "dismiss 2");
  CHECK(goodbye(swept, {2}) == "close 2, finish 69, node 1, 2 after it, swept n1 of 3");
}

TEST_CASE("a silent node is lost after the node timeout, but not because the launcher slept") {
  JobState job = started_job(2, 1, {.node_timeout = 3s});
  for (auto at = kT0 + 1s; at < kT0 + 3s; at += 1s) {
    job.on(AgentHeard{0}, at);
    CHECK(text_of(job.on(Tick{}, at)) == "beat");
  }
  job.on(AgentHeard{0}, kT0 + 3s);
  CHECK(text_of(job.on(Tick{}, kT0 + 3s)) == "beat, close 1, open 2, stop 0 10000");

  JobState slept = started_job(2, 1, {.node_timeout = 3s});
  CHECK(text_of(slept.on(Tick{}, kT0 + 60s)) == "beat");
}

TEST_CASE("Ctrl-C once stops, twice kills, three times leaves") {
  JobState job = started_job(1, 2);
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "stop 0 10000");
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0 + 500ms)) == "kill 0");
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0 + 900ms)) ==
        "close 0, finish 130, signal 2, unanswered 0");
}

TEST_CASE("two TERMs within 2 s are one: GNU timeout signals the child, and then its group") {
  JobState job = started_job(1, 2);
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0)) == "stop 0 10000");
  CHECK(job.on(SignalReceived{SIGTERM}, kT0 + 5us).empty());
  CHECK(job.on(SignalReceived{SIGHUP}, kT0 + 1s).empty());
  CHECK(text_of(job.on(SignalReceived{SIGTERM, true}, kT0 + 1s)) == "kill 0");
}

TEST_CASE("signals have their exit codes") {
  for (const int signo : {SIGHUP, SIGINT, SIGTERM}) {
    JobState job = started_job(1, 1);
    job.on(SignalReceived{signo}, kT0);
    job.on(signaled(0, SIGTERM), kT0);
    CHECK(text_of(job.on(AgentDone{0}, kT0)) ==
          fmt::format("close 0, finish {}, signal {}, 1 after it", 128 + signo, signo));
  }
}

TEST_CASE("Ctrl-C while nodes are being reached leaves the unreached and kills the rest") {
  JobState job(placement_of(2, 1), {});
  job.on(Start{}, kT0);
  job.on(AgentGreeted{1}, kT0);
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "close 0, kill 1");
  CHECK(text_of(job.on(AgentDone{1}, kT0)) == "close 1, finish 130, signal 2");
}

TEST_CASE("after a failure the first Ctrl-C kills, and the failure stays the verdict") {
  JobState job = started_job(1, 2);
  job.on(exited(1, 9), kT0);
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "kill 0");
}

TEST_CASE("suspension stops all clocks") {
  JobState job = started_job(1, 2, {.grace = 4s, .node_timeout = 3s});
  job.on(SignalReceived{SIGTERM}, kT0);
  CHECK(text_of(job.on(SignalReceived{SIGTSTP}, kT0 + 500ms)) == "suspend, suspend self");
  CHECK(job.wake_at() == ds::Clock::time_point::max());
  CHECK(text_of(job.on(Tick{}, kT0 + 90s)).empty());
  CHECK(text_of(job.on(Continued{}, kT0 + 100s)) == "resume");
  CHECK(job.wake_at() == kT0 + 100s + 500ms);
}

TEST_CASE("ranks that are held for a debugger suspend the job until it goes on") {
  JobState job = started_job(1, 2, {.node_timeout = 3s});
  CHECK(text_of(job.on(RanksHeld{}, kT0)) == "suspend, suspend self");
  CHECK(job.wake_at() == ds::Clock::time_point::max());
  CHECK(text_of(job.on(Continued{}, kT0 + 1h)) == "resume");
}

TEST_CASE("a closed output ends the job as SIGPIPE would") {
  JobState job = started_job(1, 1);
  CHECK(text_of(job.on(OutputClosed{}, kT0)) == "stop 0 10000");
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0, finish 141, output, 1 after it");
}

TEST_CASE("output that cannot be written says why") {
  JobState job = started_job(1, 1);
  job.on(OutputClosed{"No space left on device"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0, finish 141, output, 1 after it");
}

TEST_CASE("a job that ended well is concluded when its output is written") {
  JobState job = started_job(1, 1);
  job.on(exited(0, 0), kT0);
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0, flush");
  CHECK(job.only_writes());
  CHECK(text_of(job.on(Tick{}, kT0 + 90s)).empty());
  CHECK(text_of(job.on(OutputWritten{}, kT0 + 90s)) == "finish 0, well");
}

TEST_CASE("output that turns out to be lost after all ranks ended well is the verdict") {
  const std::string headline = "finish 141, output";
  JobState before = started_job(1, 1);
  before.on(exited(0, 0), kT0);
  CHECK(before.on(OutputClosed{"No space left on device"}, kT0).empty());
  CHECK(goodbye(before, {0}) == "close 0, " + headline);
  JobState between = started_job(2, 1);
  between.on(exited(0, 0), kT0);
  between.on(exited(1, 0), kT0);
  between.on(AgentCleared{0}, kT0);
  between.on(AgentCleared{1}, kT0);
  CHECK(between.on(OutputClosed{"No space left on device"}, kT0).empty());
  CHECK(goodbye(between, {0, 1}) == "close 1, " + headline);
  JobState after = started_job(1, 1);
  after.on(exited(0, 0), kT0);
  after.on(AgentDone{0}, kT0);
  CHECK(text_of(after.on(OutputClosed{"No space left on device"}, kT0)) == headline);
  CHECK(after.on(OutputWritten{}, kT0).empty());
}

TEST_CASE("a signal while only unread output holds a job that ended well gives its code") {
  JobState job = started_job(1, 1);
  job.on(exited(0, 0), kT0);
  job.on(AgentDone{0}, kT0);
  CHECK(job.phase_name() == "finished");
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "finish 130, signal 2");
  CHECK(headline({.placement = job.placement(), .cause = job.cause()}) ==
        "interrupted: output that was not read is dropped");
}

TEST_CASE("standard input that cannot be read ends the job with 1, and no restart follows") {
  JobState job = started_job(1, 1, {.max_restarts = 1});
  CHECK(text_of(job.on(InputFailed{"EIO"}, kT0)) == "stop 0 10000");
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0, finish 1, input EIO, 1 after it");
  CHECK(headline({.placement = job.placement(), .cause = job.cause()}) ==
        "cannot read standard input: EIO");
}

TEST_CASE("ranks that left something behind do not hold the job for ever") {
  JobState job = started_job(1, 1, {.grace = 1s});
  job.on(exited(0, 0), kT0);
  job.on(AgentHeard{0}, kT0 + 3s);
  CHECK(text_of(job.on(Tick{}, kT0 + 3s)) == "beat, kill 0");
  CHECK(text_of(job.on(AgentDone{0}, kT0 + 3s)) == "close 0, flush");
}

TEST_CASE("a slow reader of the output is no reason to kill") {
  JobState job = started_job(1, 1, {.grace = 1s, .node_timeout = 3s});
  job.on(exited(0, 0), kT0);
  for (auto at = kT0 + 1s; at < kT0 + 60s; at += 1s) {
    CHECK(job.on(OutputHeld{}, at).empty());
    job.on(AgentHeard{0}, at);
    CHECK(text_of(job.on(Tick{}, at)) == "beat");
  }
  CHECK(text_of(job.on(AgentDone{0}, kT0 + 60s)) == "close 0, flush");
}

TEST_CASE("a node that falls silent while nobody reads the output is lost all the same") {
  JobState job = started_job(1, 1, {.node_timeout = 3s});
  for (auto at = kT0 + 1s; at < kT0 + 8s; at += 1s) {
    job.on(OutputHeld{}, at);
    job.on(Tick{}, at);
  }
  CHECK(job.cause().kind == Cause::Kind::node);
}

TEST_CASE("a short node timeout still holds several heartbeats") {
  JobState job = started_job(1, 1, {.node_timeout = 1s});
  const auto first = job.wake_at();
  CHECK(text_of(job.on(Tick{}, first)) == "beat");
  CHECK(job.wake_at() - first == 250ms);
}
