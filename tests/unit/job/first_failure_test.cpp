// Which failure was the first: news of ends come in another order than the ends themselves.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

/// Known on our clock as `at` give or take `error`.
RankExited ended(int rank, int code, ds::Clock::duration at, std::chrono::nanoseconds error) {
  RankExited event = exited(rank, code);
  event.time = {.there = 0, .here = kT0 + at, .error = error};
  return event;
}

/// At `there` of its agent's clock.
RankExited ended_there(int rank, int code, std::uint64_t there) {
  RankExited event = exited(rank, code);
  event.time.there = there;
  return event;
}

std::string headline_after(JobState& job, int nodes) {
  for (int agent = 0; agent < nodes; ++agent)
    for (const Action& action : job.on(AgentDone{agent}, kT0))
      if (const auto* end = std::get_if<Conclude>(&action)) return text_of(end->verdict);
  return {};
}

}  // namespace

TEST_CASE("on one node the earlier end is the first failure, in whatever order they are heard") {
  JobState job = started_job(1, 3);
  CHECK(text_of(job.on(ended_there(0, 1, 2000), kT0)) == "stop 0 10000");
  job.on(ended_there(2, 9, 1500), kT0);
  job.on(ended_there(1, 7, 2500), kT0);
  CHECK(headline_after(job, 1) == "finish 9, rank 2, 2 after it");
}

TEST_CASE("between nodes the clocks must be exact enough to tell") {
  JobState sure = started_job(2, 1);
  sure.on(ended(0, 1, 900us, 100us), kT0 + 1ms);
  sure.on(ended(1, 9, 500us, 200us), kT0 + 2ms);
  CHECK(headline_after(sure, 2) == "finish 9, rank 1, 1 after it");

  JobState unsure = started_job(2, 1);
  unsure.on(ended(0, 1, 900us, 300us), kT0 + 1ms);
  unsure.on(ended(1, 9, 500us, 200us), kT0 + 2ms);
  CHECK(headline_after(unsure, 2) == "finish 1, rank 0, 1 after it");
}

TEST_CASE("in a training, a rank's own error counts before the ranks that lost that rank") {
  const auto after_69 = [](const RankExited& own, bool trains) {
    JobState job = started_job(2, 2, {.trains = trains});
    job.on(ended(3, 69, 500us, 100us), kT0 + 1ms);
    job.on(own, kT0 + 900ms);
    for (const int rank : {1, 2}) job.on(exited(rank, 143), kT0 + 1s);
    return headline_after(job, 2);
  };
  for (const int code : {1, 64, 65, 70, 93})
    CHECK(after_69(exited(0, code), true) == fmt::format("finish {}, rank 0, 3 after it", code));
  CHECK(after_69(signaled(0, SIGSEGV), true) == "finish 139, rank 0, 3 after it");
  RankExited no_memory = signaled(0, SIGKILL);
  no_memory.end.note = "out of memory";
  CHECK(after_69(no_memory, true) == "finish 137, rank 0, 3 after it");
  // These ended by the order to stop, or lost another rank as well.
  for (const RankExited& order :
       {exited(0, 143), exited(0, 69), signaled(0, SIGTERM), signaled(0, SIGKILL)})
    CHECK(after_69(order, true) == "finish 69, rank 3, 3 after it");
  // Other programs may mean something else by 69.
  CHECK(after_69(exited(0, 65), false) == "finish 69, rank 3, 3 after it");
}

TEST_CASE(
    "in a training, ranks that ended by the order to stop are never the cause of an own error") {
  JobState job = started_job(1, 3, {.trains = true});
  job.on(ended_there(2, 69, 1000), kT0);
  job.on(ended_there(0, 65, 3000), kT0);
  job.on(ended_there(1, 143, 2000), kT0);
  CHECK(headline_after(job, 1) == "finish 65, rank 0, 2 after it");
}

TEST_CASE("in a training, no restart follows a wrong configuration, whoever reports first") {
  for (const int code : {64, 65}) {
    JobState job = started_job(1, 2, {.max_restarts = 3, .trains = true});
    CHECK(text_of(job.on(exited(1, code), kT0)) == "stop 0 10000");
    JobState late = started_job(1, 2, {.max_restarts = 3, .trains = true});
    CHECK(text_of(late.on(exited(1, 69), kT0)) == "say, stop 0 10000");
    CHECK(text_of(late.on(exited(0, code), kT0)) == "say");
    CHECK(text_of(late.on(AgentCleared{0}, kT0)) == "dismiss 0");
    JobState other = started_job(1, 2, {.max_restarts = 3});
    CHECK(text_of(other.on(exited(1, code), kT0)) == "say, stop 0 10000");
  }
}

TEST_CASE("a rank that failed well before a lost node was last heard came first") {
  const auto lost_then = [](ds::Clock::duration failed_at) {
    JobState job = started_job(2, 2);
    job.on(AgentHeard{1}, kT0 + 5s);
    job.on(AgentLost{1, "n1: gone"}, kT0 + 6s);
    job.on(ended(0, 9, failed_at, 1ms), kT0 + 6s + 1ms);
    job.on(exited(1, 15), kT0 + 6s + 2ms);
    job.on(AgentDone{0}, kT0 + 7s);
    for (const Action& action : job.on(AgentLost{2, "n1: gone"}, kT0 + 7s))  // dialled again
      if (const auto* end = std::get_if<Conclude>(&action)) return text_of(end->verdict);
    return std::string("no verdict");
  };
  CHECK(lost_then(3900ms) == "finish 9, rank 0, 3 after it, unswept n1");
  CHECK(lost_then(4100ms).starts_with("finish 69, node 1"));
  CHECK(lost_then(5500ms).starts_with("finish 69, node 1"));
}

TEST_CASE("clocks of different agents are not compared as they are") {
  JobState job = started_job(2, 1);
  job.on(ended_there(0, 1, 2000), kT0);
  job.on(ended_there(1, 9, 1500), kT0);
  CHECK(headline_after(job, 2) == "finish 1, rank 0, 1 after it");
}

TEST_CASE("an earlier end with 0 is no failure, and an unknown time is not earlier") {
  JobState job = started_job(1, 3);
  job.on(ended_there(0, 1, 2000), kT0);
  job.on(ended_there(1, 0, 1000), kT0);
  job.on(exited(2, 5), kT0);
  CHECK(headline_after(job, 1) == "finish 1, rank 0, 2 after it");
}

TEST_CASE("what came before a signal to dslaunch does not change its verdict") {
  JobState job = started_job(1, 2);
  job.on(SignalReceived{SIGINT}, kT0);
  job.on(ended_there(0, 1, 10), kT0);
  job.on(ended_there(1, 1, 11), kT0);
  CHECK(headline_after(job, 1) == "finish 130, signal 2, 2 after it");
}

TEST_CASE("an earlier failure that forbids a restart ends the job while its ranks are stopped") {
  JobState job = started_job(1, 2, {.max_restarts = 3});
  CHECK(text_of(job.on(ended_there(0, 1, 2000), kT0)) == "say, stop 0 10000");
  CHECK(text_of(job.on(ended_there(1, 93, 1000), kT0)) == "say");
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(goodbye(job, {0}) == "close 0, finish 93, rank 1, 1 after it");
}

TEST_CASE("an earlier failure that allows a restart is what the verdict says about it") {
  JobState job = started_job(1, 2, {.max_restarts = 1});
  job.on(ended_there(0, 1, 2000), kT0);
  job.on(ended_there(1, 7, 1000), kT0);
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "spec 0");
  job.on(AgentReady{0, 1}, kT0);
  for (const int rank : {0, 1}) job.on(exited(rank, 0), kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentDone{0}, kT0);
  const auto actions = job.on(OutputWritten{}, kT0);
  CHECK(std::get<Conclude>(actions.back()).verdict.restarts[0].why == "rank 1 on n0: exited 7");
}

TEST_CASE("pre-empted: ranks that save have until the end of the grace, and 143 is the verdict") {
  JobState job = started_job(2, 2, {.grace = 25s});
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0)) == "stop 0 25000, stop 1 25000");
  job.on(exited(0, 143), kT0 + 3s);
  const std::string waited = let_pass(job, {0, 1}, kT0 + 20s);
  CHECK(waited.find("kill") == std::string::npos);
  for (const int rank : {1, 2, 3}) job.on(exited(rank, 143), kT0 + 24s);
  for (const int agent : {0, 1}) job.on(AgentDone{agent}, kT0 + 24s);
  CHECK(job.finished());
  CHECK(exit_code(job.cause()) == 143);
}

TEST_CASE("pre-empted ranks alone: the first to leave ends the job, and nobody is killed early") {
  JobState job = started_job(1, 3, {.grace = 25s});
  CHECK(text_of(job.on(exited(1, 143), kT0)) == "stop 0 25000");  // the others are told once
  CHECK(let_pass(job, {0}, kT0 + 24s).find("kill") == std::string::npos);
  job.on(exited(0, 143), kT0 + 24s);
  job.on(exited(2, 143), kT0 + 24s);
  CHECK(goodbye(job, {0}, kT0 + 24s) == "close 0, finish 143, rank 1, 2 after it");
}

TEST_CASE("a rank that dies after TERM is named, and the verdict stays that of the signal") {
  JobState job = started_job(1, 3);
  job.on(SignalReceived{SIGTERM}, kT0);
  job.on(signaled(1, SIGKILL), kT0 + 1s);
  job.on(exited(0, 143), kT0 + 1s);
  job.on(exited(2, 143), kT0 + 1s);
  CHECK(goodbye(job, {0}, kT0 + 1s) == "close 0, finish 143, signal 15, 3 after it");
}
