// Hosts that join a job with --nodes MIN:MAX and cannot take part: the job goes on without them.
#include <doctest/doctest.h>

#include <csignal>

#include "launcher/job/host_history.h"
#include "unit/job/member_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

JobPolicy training_for(int least, int most) {
  return elastic(least, most, {.max_restarts = 3, .trains = true});
}

/// All ranks of the epoch run, and those of a training have made a step.
void run_well(JobState& job, ds::Clock::time_point at = kT0) {
  for (int rank = 0; rank < job.placement().world_size(); ++rank)
    job.on(RankStarted{rank, 100 + rank}, at);
  job.on(PhaseReached{"first_step", at}, at);
}

/// A job on n0 and n1 that has run well; `agent` of the new host "x" takes part in the next epoch,
/// whose ranks have begun.
JobState joined_by_x(const JobPolicy& policy) {
  JobState job = started(2, 1, policy);
  run_well(job);
  job.on(HostAdded{{.name = "x"}}, kT0);
  REQUIRE(text_of(job.on(AgentGreeted{2}, kT0)) == "check 2");
  job.on(HostChecked{2}, kT0);
  for (const int rank : {0, 1}) job.on(exited(rank, 94), kT0 + 2s);
  REQUIRE(clear(job, {0, 1}, kT0 + 2s) == "say, spec 0, spec 1, spec 2");
  return job;
}

RankExited not_run(int rank) {
  return {rank, {ds::ExitStatus::exited(127), "cannot run ./a.out: not found", {}}};
}

}  // namespace

TEST_CASE("a host that joins without the program leaves the job, which goes on") {
  JobState job = joined_by_x(elastic(2, 3));
  ready(job, {0, 1, 2}, kT0 + 2s);
  JobState first = started(2, 1, elastic(2, 3));
  const auto actions = job.on(not_run(2), kT0 + 2s);
  CHECK(said_by(actions) ==
        "x cannot join: cannot run ./a.out: not found; the job goes on without it; once that is "
        "mended, add it again with: dslaunch scale --add x\n"
        "x cannot take part; starting all ranks again\n");
  CHECK(text_of(actions) == "say, say, stop 0 10000, stop 1 10000, stop 2 10000");
  for (const int rank : {0, 1}) job.on(signaled(rank, SIGTERM), kT0 + 2s);
  clear(job, {2, 0}, kT0 + 2s);
  CHECK(clear(job, {1}, kT0 + 2s) == "dismiss 2, say, spec 0, spec 1");
  CHECK(hosts_of(job) == "n0 n1");
  CHECK(job.placement().restarts == 0);
  CHECK(job.host_roles().back() == HostRole::retired);

  CHECK_MESSAGE(text_of(first.on(not_run(1), kT0)) == "stop 0 10000, stop 1 10000",
                "at the start it ends the job");
  CHECK(first.phase_name() == "stopping");
}

TEST_CASE("a training whose config is refused by a host that joins goes on without that host") {
  JobState job = joined_by_x(training_for(2, 3));
  ready(job, {0, 1, 2}, kT0 + 2s);
  JobState late = job;
  CHECK(said_by(job.on(exited(2, 65), kT0 + 2s))
            .starts_with("x cannot join: rank 2 exited 65, as its output says; "));
  CHECK(job.phase_name() == "restarting");

  // Another rank, which lost the one of x, is heard first.
  late.on(exited(0, 69), kT0 + 2s);
  CHECK(said_by(late.on(exited(2, 65), kT0 + 2s)).find("x cannot join") != std::string::npos);
  late.on(exited(1, 69), kT0 + 2s);
  clear(late, {2, 0}, kT0 + 2s);
  CHECK(clear(late, {1}, kT0 + 2s) == "dismiss 2, say, spec 0, spec 1");
  CHECK(late.placement().restarts == 0);

  JobState asks = joined_by_x(training_for(2, 3));
  ready(asks, {0, 1, 2}, kT0 + 2s);
  asks.on(exited(2, 93), kT0 + 2s);
  CHECK_MESSAGE(asks.phase_name() == "stopping", "a rank has asked for the end");
}

TEST_CASE("a host that joins and does not reach node 0 leaves the job, which goes on") {
  JobPolicy policy = elastic(2, 3);
  policy.find_master = true;
  JobState job(placement_of(2, 1), policy);
  job.on(Start{}, kT0);
  for (const int agent : {0, 1}) job.on(AgentGreeted{agent}, kT0);
  ready(job, {0, 1});
  job.on(MasterFound{}, kT0);
  run_well(job);
  job.on(HostAdded{{.name = "x"}}, kT0);
  job.on(AgentGreeted{2}, kT0);
  job.on(HostChecked{2}, kT0);
  for (const int rank : {0, 1}) job.on(exited(rank, 94), kT0 + 2s);
  clear(job, {0, 1}, kT0 + 2s);
  CHECK(ready(job, {0, 1, 2}, kT0 + 2s) == "find master 5000");
  JobState all = job;
  const auto actions = job.on(MasterMissing{"no way", {2}}, kT0 + 2s);
  CHECK(text_of(actions) == "say, say, say, stop 0 10000, stop 1 10000, stop 2 10000");
  CHECK(said_by(actions).find("x cannot join: it does not reach n0; ") != std::string::npos);
  clear(job, {2, 0}, kT0 + 2s);
  CHECK(clear(job, {1}, kT0 + 2s) == "dismiss 2, say, spec 0, spec 1");
  ready(job, {0, 1}, kT0 + 2s);
  CHECK(text_of(job.on(MasterFound{}, kT0 + 2s)) == "go 5000");

  CHECK_MESSAGE(text_of(all.on(MasterMissing{"no way", {1, 2}}, kT0 + 2s)) ==
                    "say, kill 0, kill 1, kill 2",
                "a host of the job is cut off");
}

TEST_CASE("a host that is lost again and again before its ranks begin is dialed ever less often") {
  JobState job = joined_by_x(training_for(2, 3));
  CHECK(text_of(job.on(AgentLost{2, "x: reset"}, kT0 + 2s)).starts_with("close 2, open 3, say"));
  auto at = kT0 + 2s;
  int agent = 3;
  for (const auto delay : {1s, 2s, 4s}) {
    clear(job, {0, 1}, at);
    at += 60s;
    for (const int each : {0, 1, agent}) job.on(AgentHeard{each}, at - 1ms);
    job.on(Tick{}, at);
    ready(job, {0, 1}, at);
    run_well(job, at);
    job.on(AgentGreeted{agent}, at);
    job.on(AgentSwept{agent, 0}, at);
    job.on(HostChecked{agent}, at);
    for (const int rank : {0, 1}) job.on(exited(rank, 94), at + 2s);
    REQUIRE(clear(job, {0, 1}, at + 2s).find("spec 2 to") != std::string::npos);
    at += 2s;
    CHECK(text_of(job.on(AgentLost{agent, "x: reset"}, at)).find("open") == std::string::npos);
    CHECK(let_pass(job, {0, 1}, at + delay - 1ms).find("open") == std::string::npos);
    CHECK(let_pass(job, {0, 1}, at + delay).find("open") != std::string::npos);
    ++agent;
    at += delay;
  }
}

TEST_CASE("a host that does not fit is refused once, disturbs nobody, and is checked again") {
  JobState job = started(2, 1, training_for(2, 3));
  run_well(job);
  job.on(HostAdded{{.name = "x"}}, kT0);
  CHECK(text_of(job.on(AgentGreeted{2}, kT0)) == "check 2");
  CHECK(let_pass(job, {0, 1, 2}, kT0 + 60s).empty());
  JobState slow = job;
  const auto actions = job.on(HostChecked{2, "no program"}, kT0 + 60s);
  CHECK(text_of(actions) == "dismiss 2, say");
  CHECK(said_by(actions) ==
        "x cannot join: no program; once that is mended, it joins: it is checked again at least "
        "every 30 s\n");
  CHECK(text_of(job.on(AgentDone{2}, kT0 + 60s)) == "close 2");
  CHECK(let_pass(job, {0, 1}, kT0 + 61s) == "open 3");
  CHECK(text_of(job.on(AgentGreeted{3}, kT0 + 61s)) == "sweep 3");
  CHECK(text_of(job.on(AgentSwept{3, 0}, kT0 + 61s)) == "check 3");
  JobState mended = job;
  CHECK_MESSAGE(text_of(job.on(HostChecked{3, "no program"}, kT0 + 61s)) == "dismiss 3", "as said");
  CHECK(job.phase_name() == "running");
  CHECK(job.on(HostChecked{3}, kT0 + 61s).empty());  // late
  mended.on(HostChecked{3}, kT0 + 61s);
  CHECK(let_pass(mended, {0, 1, 3}, kT0 + 62s) == "say, PauseRanks");

  const std::string late = let_pass(slow, {0, 1, 2}, kT0 + 600s);
  CHECK(late == "dismiss 2, say");
}

TEST_CASE("a training that neither keeps nor saves its states is not paused, which is said once") {
  JobState job = started(2, 1, training_for(2, 4));
  run_well(job);
  job.on(StatesTold{.may_pause = false, .saves_at_stop = false}, kT0);
  job.on(HostAdded{{.name = "x"}}, kT0);
  job.on(AgentGreeted{2}, kT0);
  CHECK(said_by(job.on(HostChecked{2}, kT0)) ==
        "x is ready and joins at the next restart; the training is not paused, because its states "
        "are neither kept in memory (elastic.every=0) nor saved (no checkpoint.dir)\n");
  job.on(HostAdded{{.name = "y"}}, kT0);
  job.on(AgentGreeted{3}, kT0);
  CHECK(said_by(job.on(HostChecked{3}, kT0)) == "y is ready and joins at the next restart\n");
  CHECK(let_pass(job, {0, 1, 2, 3}, kT0 + 60s).empty());
}

TEST_CASE("a host that is removed while it is checked stays away") {
  JobState job = started(2, 1, training_for(1, 3));
  run_well(job);
  job.on(HostAdded{{.name = "x"}}, kT0);
  job.on(AgentGreeted{2}, kT0);
  CHECK(text_of(job.on(HostRetired{2}, kT0)) == "dismiss 2");
  CHECK(job.on(HostChecked{2}, kT0).empty());
  CHECK(text_of(job.on(AgentDone{2}, kT0)) == "close 2");
  CHECK(let_pass(job, {0, 1}, kT0 + 99s).empty());
}

TEST_CASE("spares of the start are checked once the ranks run well") {
  JobState job = started(3, 1, elastic(1, 2));
  job.on(RankStarted{0, 1}, kT0);
  CHECK(text_of(job.on(RankStarted{1, 1}, kT0)) == "check 2");
  JobState unchecked = job;
  job.on(HostChecked{2, "no program"}, kT0);
  job.on(AgentDone{2}, kT0);
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(clear(job, {0}) == "say, spec 0");

  unchecked.on(AgentLost{1, "n1: reset"}, kT0);
  unchecked.on(signaled(0, SIGTERM), kT0);
  CHECK_MESSAGE(clear(unchecked, {0}) == "say, spec 0, spec 1 to 2", "nobody waits for the check");
  CHECK(unchecked.on(HostChecked{2, "no program"}, kT0).empty());
}

TEST_CASE("delays grow up to 30 s, until the ranks of the host begin") {
  HostHistory hosts;
  for (int i = 0; i < 9; ++i) hosts.failed(3);
  CHECK(hosts.failures(3) == 9);
  CHECK(HostHistory::delay_after(0) == 1s);
  CHECK(HostHistory::delay_after(3) == 8s);
  CHECK(HostHistory::delay_after(9) == 30s);
  hosts.began(3);
  CHECK(hosts.failures(3) == 0);
}

TEST_CASE("whether a host joins depends on what has run well, and not since it was lost") {
  HostHistory hosts;
  CHECK_FALSE(hosts.joins(1));
  hosts.proved(0);
  CHECK(hosts.joins(1));
  hosts.proved(1);
  CHECK_FALSE(hosts.joins(1));
  hosts.lost(1);
  CHECK(hosts.joins(1));
  CHECK(hosts.retire(1));
  CHECK_FALSE(hosts.retire(1));
  CHECK(hosts.retired() == 1);
}

TEST_CASE("a rank that fails beside others that exit with 94 is a failure that counts") {
  JobState job = started(3, 1, elastic(1, 3, {.max_restarts = 1}));
  job.on(exited(0, 94), kT0 + 2s);
  JobState asks = job;
  JobState stopped = job;
  CHECK(text_of(job.on(exited(1, 7), kT0 + 2s)) ==
        "say, stop 0 10000, stop 1 10000, stop 2 10000");
  job.on(signaled(2, SIGTERM), kT0 + 2s);
  CHECK(clear(job, {0, 1, 2}, kT0 + 2s) == "say, spec 0, spec 1, spec 2");
  CHECK(job.placement().restarts == 1);

  asks.on(exited(1, 93), kT0 + 2s);
  CHECK(asks.phase_name() == "stopping");

  let_pass(stopped, {0, 1, 2}, kT0 + 12s);  // the grace is over
  for (const int rank : {1, 2}) stopped.on(signaled(rank, SIGTERM), kT0 + 12s);
  CHECK(clear(stopped, {0, 1, 2}, kT0 + 12s) == "say, spec 0, spec 1, spec 2");
  CHECK_MESSAGE(stopped.placement().restarts == 0, "it ended by order");

  JobState training = started(2, 1, elastic(1, 2, {.max_restarts = 1, .trains = true}));
  training.on(exited(0, 94), kT0 + 2s);
  training.on(exited(1, 69), kT0 + 2s);
  CHECK(clear(training, {0, 1}, kT0 + 2s) == "say, spec 0, spec 1");
  CHECK_MESSAGE(training.placement().restarts == 0, "it lost the rank that paused");
}

TEST_CASE("a host that is lost and then removed is dialed until its processes are killed") {
  JobState job = started(3, 1, elastic(1, 3, {.node_timeout = 0ms, .max_restarts = 3}));
  job.on(AgentLost{2, "n2: reset"}, kT0);
  for (const int rank : {0, 1}) job.on(signaled(rank, SIGTERM), kT0);
  clear(job, {0, 1});
  ready(job, {0, 1});
  JobState opening = job;
  CHECK(text_of(opening.on(HostRetired{2}, kT0)).empty());  // agent 3 goes on
  job.on(AgentLost{3, "n2: no route"}, kT0);
  job.on(HostRetired{2}, kT0);
  CHECK(let_pass(job, {0, 1}, kT0 + 1s) == "open 4");
  job.on(AgentLost{4, "n2: no route"}, kT0 + 1s);
  CHECK(let_pass(job, {0, 1}, kT0 + 3s) == "open 5");
  CHECK(text_of(job.on(AgentGreeted{5}, kT0 + 3s)) == "sweep 5");
  CHECK(text_of(job.on(AgentSwept{5, 1}, kT0 + 3s)) == "say, dismiss 5");
  CHECK(text_of(job.on(AgentDone{5}, kT0 + 3s)) == "close 5");
  CHECK(let_pass(job, {0, 1}, kT0 + 99s).empty());
}

TEST_CASE("a host that comes back after it was removed is swept first") {
  JobState job = started(2, 1, elastic(1, 3));
  job.on(HostRetired{1}, kT0);
  job.on(HostAdded{{.name = "n1"}}, kT0);
  CHECK(text_of(job.on(AgentGreeted{2}, kT0)) == "sweep 2");
  JobState other = started(2, 1, elastic(1, 3));
  other.on(HostAdded{{.name = "n7"}}, kT0);
  CHECK(text_of(other.on(AgentGreeted{2}, kT0)).find("sweep") == std::string::npos);
}
