// Hosts beyond the placement: they stand in for bad and for lost ones.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

std::vector<Host> spare_hosts(int count, int slots) {
  std::vector<Host> hosts;
  for (int i = 0; i < count; ++i)
    hosts.push_back(
        {.name = fmt::format("s{}", i), .user = {}, .port = 0, .slots = slots, .place = {}});
  return hosts;
}

/// A job on `nodes` hosts that runs since kT0, its spares waiting.
JobState started_with_spares(int nodes, int ranks, int spares, JobPolicy policy) {
  JobState job(placement_of(nodes, ranks), policy, spare_hosts(spares, ranks));
  job.on(Start{}, kT0);
  for (int agent = nodes + spares - 1; agent >= 0; --agent) {
    job.on(AgentGreeted{agent}, kT0);
    if (agent < nodes) job.on(AgentReady{agent, 4000}, kT0);
  }
  return job;
}

}  // namespace

TEST_CASE("a host that cannot be used at the start is replaced, and named") {
  JobState job(placement_of(2, 2), {}, spare_hosts(1, 2));
  CHECK(text_of(job.on(Start{}, kT0)) == "open 0, open 1, open 2");
  CHECK(text_of(job.on(AgentGreeted{2}, kT0)).empty());
  CHECK(text_of(job.on(AgentLost{1, "n1: refused"}, kT0)) == "close 1, say, spec 1 to 2");
  job.on(AgentGreeted{0}, kT0);
  job.on(AgentReady{0, 4000}, kT0);
  CHECK(text_of(job.on(AgentReady{2, 0}, kT0)) == "go 4000");
  CHECK(job.placement().nodes[1].host.name == "s0");
  CHECK(job.placement().epoch == 0);
}

TEST_CASE("a spare that is still on its way is waited for only if a place is vacant") {
  JobState job(placement_of(1, 1), {}, spare_hosts(1, 1));
  job.on(Start{}, kT0);
  job.on(AgentGreeted{0}, kT0);
  CHECK(text_of(job.on(AgentReady{0, 4000}, kT0)) == "go 4000");

  JobState vacant(placement_of(1, 1), {}, spare_hosts(1, 1));
  vacant.on(Start{}, kT0);
  CHECK(text_of(vacant.on(AgentLost{0, "n0: refused"}, kT0)) == "close 0");
  CHECK(text_of(vacant.on(AgentGreeted{1}, kT0)) == "say, spec 0 to 1");
}

TEST_CASE("bad hosts and bad spares are all named when the job cannot start") {
  JobState job(placement_of(2, 1), {}, spare_hosts(1, 1));
  job.on(Start{}, kT0);
  CHECK(text_of(job.on(AgentLost{2, "s0: no route"}, kT0)) == "close 2, say");
  job.on(AgentLost{1, "n1: refused"}, kT0);
  CHECK(text_of(job.on(AgentLost{0, "n0: unknown host key"}, kT0)) ==
        "close 0, say, finish 69, bad 0,1");
}

TEST_CASE("a lost node is replaced by a spare in the next epoch, the survivors stay") {
  JobState job = started_with_spares(3, 2, 1, {.max_restarts = 1});
  CHECK(text_of(job.on(AgentLost{1, "n1: nothing heard"}, kT0)) ==
        "close 1, open 4, say, stop 0 10000, stop 2 10000");
  for (const int rank : {0, 1, 4, 5}) job.on(signaled(rank, SIGTERM), kT0);
  job.on(AgentCleared{0}, kT0);
  CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "say, spec 0, spec 1 to 3, spec 2");
  for (const int agent : {0, 2}) job.on(AgentReady{agent, 4001}, kT0);
  CHECK(text_of(job.on(AgentReady{3, 0}, kT0)) == "go 4001");
  for (int rank = 0; rank < 6; ++rank) job.on(exited(rank, 0), kT0 + 1s);
  job.on(AgentLost{4, "n1: no route"}, kT0 + 1s);
  for (const int agent : {0, 2}) job.on(AgentCleared{agent}, kT0 + 1s);
  CHECK(text_of(job.on(AgentCleared{3}, kT0 + 1s)) == "dismiss 0, dismiss 2, dismiss 3");
  CHECK(goodbye(job, {0, 2, 3}) == "close 3, flush");
  CHECK(text_of(job.on(OutputWritten{}, kT0 + 1s)) == "finish 0, well, unswept n1");
}

TEST_CASE("without a restart to spend a lost node ends the job, spares or not") {
  JobState job = started_with_spares(2, 1, 1, {});
  CHECK(text_of(job.on(AgentLost{1, "n1: nothing heard"}, kT0)) ==
        "close 1, open 3, dismiss 2, stop 0 10000");
}

TEST_CASE("without a spare the lost host itself is waited for") {
  JobState job = started_job(2, 1, {.start_timeout = 30s, .max_restarts = 1});
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0)) == "close 1, open 2, say, stop 0 10000");
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(job.on(AgentCleared{0}, kT0).empty());
  CHECK(text_of(job.on(AgentGreeted{2}, kT0)) == "sweep 2");
  CHECK(text_of(job.on(AgentSwept{2, 0}, kT0)) == "say, spec 0, spec 1 to 2");
}

TEST_CASE("a lost host that answers late is used, and one that never answers ends the job") {
  JobState job = started_job(2, 1, {.node_timeout = 0ms, .start_timeout = 12s, .max_restarts = 1});
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentLost{2, "n1: no route"}, kT0);
  JobState never = job;
  CHECK(job.on(Tick{}, kT0 + 999ms).empty());
  CHECK(text_of(job.on(Tick{}, kT0 + 1s)) == "beat, open 3, say");
  job.on(AgentGreeted{3}, kT0 + 1s);
  CHECK(text_of(job.on(AgentSwept{3, 0}, kT0 + 1s)) == "say, spec 0, spec 1 to 3");

  never.on(Tick{}, kT0 + 7s);
  CHECK(text_of(never.on(AgentLost{3, "n1: no route"}, kT0 + 7s)) == "close 3, dismiss 0");
  CHECK(goodbye(never, {0}) == "close 0, finish 69, node 1, 1 after it, unswept n1");
}

TEST_CASE("a stop ends the wait for a lost host") {
  JobState job = started_job(2, 1, {.start_timeout = 30s, .max_restarts = 1});
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(AgentLost{2, "n1: no route"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)).empty());
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(goodbye(job, {0}) == "close 0, finish 130, signal 2, 1 after it, unswept n1");
}

TEST_CASE("lost hosts that answer again get their own places back, in any order") {
  JobState job = started_job(3, 1, {.start_timeout = 30s, .max_restarts = 1});
  for (const int agent : {0, 1, 2}) job.on(AgentLost{agent, "reset"}, kT0);
  for (const int agent : {5, 3, 4}) {
    job.on(AgentGreeted{agent}, kT0);
    job.on(AgentSwept{agent, 0}, kT0);
  }
  for (const int node : {0, 1, 2}) {
    CHECK(job.placement().nodes[static_cast<std::size_t>(node)].host.name ==
          fmt::format("n{}", node));
    CHECK(job.agents().agent_of(node) == node + 3);
  }
}

TEST_CASE("a node that cannot start is not dialed again, whatever the number of the first epoch") {
  Placement requeued = placement_of(2, 1);
  requeued.epoch = requeued.first_epoch = 3;
  JobState job(requeued, {.start_timeout = 30s, .max_restarts = 1});
  job.on(Start{}, kT0);
  job.on(AgentGreeted{0}, kT0);
  CHECK(text_of(job.on(AgentLost{1, "n1: refused"}, kT0)) == "close 1");
  CHECK(text_of(job.on(AgentReady{0, 4000}, kT0)) == "say, kill 0");
}

TEST_CASE("a node that is lost while a restart begins is dialed again, without a spare too") {
  JobState job = started_job(2, 1, {.start_timeout = 30s, .max_restarts = 2});
  job.on(exited(0, 5), kT0);
  job.on(signaled(1, SIGTERM), kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentCleared{1}, kT0);
  job.on(AgentReady{0, 4001}, kT0);
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0)) == "close 1, open 2");
  job.on(AgentGreeted{2}, kT0);
  CHECK(text_of(job.on(AgentSwept{2, 0}, kT0)) == "say, spec 1 to 2");
  CHECK(text_of(job.on(AgentReady{2, 0}, kT0)) == "go 4001");
}

TEST_CASE("a node that is lost while the ranks are stopped for a restart is replaced as well") {
  JobState job = started_with_spares(2, 1, 1, {.max_restarts = 1});
  job.on(exited(0, 5), kT0);
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0)) == "close 1, open 3");
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "say, spec 0, spec 1 to 2");
}

TEST_CASE("a node that is lost while an epoch starts is replaced in that epoch") {
  JobState job = started_with_spares(2, 1, 2, {.max_restarts = 1});
  job.on(exited(0, 5), kT0);
  job.on(signaled(1, SIGTERM), kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentCleared{1}, kT0);
  job.on(AgentReady{1, 0}, kT0);
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0)) == "close 1, open 4, say, spec 1 to 2");
  job.on(AgentReady{0, 4002}, kT0);
  CHECK(text_of(job.on(AgentReady{2, 0}, kT0)) == "go 4002");
  CHECK(job.placement().epoch == 1);
}

TEST_CASE("a silent spare is no spare") {
  JobState job = started_with_spares(1, 1, 1, {.max_restarts = 1});
  for (auto at = kT0 + 1s; at < kT0 + 8s; at += 1s) {
    job.on(AgentHeard{0}, at);
    CHECK(text_of(job.on(Tick{}, at)) == "beat");
  }
  job.on(AgentHeard{0}, kT0 + 8s);
  CHECK(text_of(job.on(Tick{}, kT0 + 8s)) == "beat, close 1, say");
}

TEST_CASE("the end of a job waits a little for the sweep of a lost host, not for ever") {
  JobState job = started_job(2, 1, {});
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(text_of(job.on(AgentDone{0}, kT0)) == "close 0");
  CHECK(text_of(job.on(Tick{}, kT0 + 1s)) == "beat, say");
  CHECK(let_pass(job, {}, kT0 + 4999ms).empty());
  CHECK(let_pass(job, {}, kT0 + 5s).starts_with("close 2"));
  CHECK(job.finished());

  JobState hurry = started_job(2, 1, {});
  hurry.on(AgentLost{1, "n1: reset"}, kT0);
  hurry.on(AgentDone{0}, kT0);
  hurry.on(SignalReceived{SIGINT}, kT0);
  CHECK(hurry.finished());
}

TEST_CASE("agents that were told to end and do not are not waited for") {
  JobState job = started_job(1, 1, {.max_restarts = 1});
  job.on(exited(0, 0), kT0);
  CHECK(text_of(job.on(AgentCleared{0}, kT0)) == "dismiss 0");
  CHECK(text_of(job.on(Tick{}, kT0 + 1s)) == "beat");
  CHECK(text_of(job.on(Tick{}, kT0 + 2s)) == "close 0, flush");
}

TEST_CASE("one agent that does not answer to KILL costs no other one") {
  JobState job = started_with_spares(3, 1, 1, {.grace = 1s, .max_restarts = 3});
  CHECK(text_of(job.on(exited(2, 7), kT0)) == "say, stop 0 1000, stop 1 1000, stop 2 1000");
  job.on(signaled(1, SIGTERM), kT0);
  for (const int agent : {1, 2}) job.on(AgentCleared{agent}, kT0);
  // Agent 0 beats, and its ranks stay.
  CHECK(let_pass(job, {0, 1, 2, 3}, kT0 + 8s) ==
        "kill 0, close 0, open 4, say, spec 0 to 3, spec 1, spec 2");
  CHECK(job.placement().epoch == 1);
}

TEST_CASE("a spare that takes the place of one that never gets ready has its own time") {
  JobState job(placement_of(2, 1), {.start_timeout = 40s}, spare_hosts(3, 1));
  job.on(Start{}, kT0);
  for (int agent = 0; agent < 5; ++agent) job.on(AgentGreeted{agent}, kT0);
  job.on(AgentReady{0, 4000}, kT0);
  CHECK(let_pass(job, {0, 1, 2, 3, 4}, kT0 + 40s) == "say, say, say, close 1, say, spec 1 to 2");
  CHECK(text_of(job.on(AgentReady{2, 0}, kT0 + 41s)) == "go 4000");
}

TEST_CASE("agents that have cleared up beat every 2 s, also in a shorter node timeout") {
  JobState job = started_job(3, 1, {.grace = 1s, .node_timeout = 2s, .max_restarts = 1});
  job.on(exited(2, 7), kT0);
  job.on(AgentCleared{2}, kT0);
  job.on(AgentCleared{1}, kT0);
  // Agent 0 takes its grace, and is heard.
  CHECK(let_pass(job, {0}, kT0 + 2500ms) == "");
  CHECK(text_of(job.on(AgentCleared{0}, kT0 + 2500ms)) == "spec 0, spec 1, spec 2");
}

TEST_CASE("when no host is left the reason says which one went, and why") {
  JobState job = started_job(2, 1, {.start_timeout = 5s, .max_restarts = 1});
  job.on(exited(0, 7), kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(AgentLost{2, "n1: no route"}, kT0);
  CHECK(job.cause().note == "no host is left to take the place of n1 (reset)");
}
