// Jobs whose number of nodes changes: who is in the next epoch, what counts, what is waited for.
#include <doctest/doctest.h>

#include <csignal>

#include "launcher/job/membership.h"
#include "unit/job/member_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

/// A job of three nodes that has lost one and runs on the others. Agent 3 reaches the lost host.
JobState without(int lost, std::initializer_list<int> others) {
  JobState job = started(3, 1, elastic(1, 3));
  job.on(AgentLost{lost, fmt::format("n{}: reset", lost)}, kT0);
  for (const int rank : others) job.on(signaled(rank, SIGTERM), kT0);
  clear(job, others);
  ready(job, others);
  job.on(AgentGreeted{3}, kT0 + 5s);
  return job;
}

}  // namespace

TEST_CASE("nodes are chosen once the hosts are there; those beyond MAX wait") {
  JobState job(placement_of(4, 2), elastic(2, 3));
  CHECK(text_of(job.on(Start{}, kT0)) == "open 0, open 1, open 2, open 3");
  CHECK(job.on(AgentGreeted{3}, kT0).empty());
  CHECK(job.on(AgentGreeted{1}, kT0).empty());
  CHECK(job.on(AgentGreeted{0}, kT0).empty());  // n2 precedes n3
  JobState bad = job;
  CHECK(text_of(job.on(AgentGreeted{2}, kT0)) == "spec 0, spec 1, spec 2");
  CHECK(hosts_of(job) == "n0 n1 n2");
  CHECK(job.placement().epoch == 0);
  CHECK(ready(job, {0, 1, 2}) == "go 5000");
  CHECK(job.placement().world_size() == 6);

  CHECK(text_of(bad.on(AgentLost{2, "n2: refused"}, kT0)) ==
        "close 2, say, spec 0, spec 1, spec 2 to 3");
  CHECK(hosts_of(bad) == "n0 n1 n3");
}

TEST_CASE("the job begins with the hosts that are ready at the start timeout") {
  JobState job(placement_of(4, 1), elastic(2, 4, {.start_timeout = 20s}));
  job.on(Start{}, kT0);
  job.on(AgentGreeted{3}, kT0);
  job.on(AgentGreeted{0}, kT0);
  CHECK(text_of(job.on(AgentLost{1, "n1: refused"}, kT0)) == "close 1");
  CHECK(let_pass(job, {0, 3}, kT0 + 19s).find("spec") == std::string::npos);
  const std::string text = let_pass(job, {0, 3}, kT0 + 20s);
  CHECK(text.ends_with("spec 0, spec 1 to 3"));
  CHECK(hosts_of(job) == "n0 n3");
}

TEST_CASE("a job whose hosts dial in begins with enough of them after some time") {
  JobPolicy policy = elastic(2, 4, {.start_timeout = 600s});
  policy.elastic->begin_within = 30s;
  JobState job(placement_of(4, 1), policy);
  job.on(Start{}, kT0);
  for (const int agent : {0, 2}) job.on(AgentGreeted{agent}, kT0);
  CHECK(let_pass(job, {0, 2}, kT0 + 29s).find("spec") == std::string::npos);
  CHECK(let_pass(job, {0, 2}, kT0 + 30s).ends_with("spec 0, spec 1 to 2"));
}

TEST_CASE("fewer than MIN at the start: every bad host is named, and the job ends") {
  JobState job(placement_of(3, 1), elastic(2, 3));
  job.on(Start{}, kT0);
  job.on(AgentGreeted{0}, kT0);
  job.on(AgentLost{1, "n1: refused"}, kT0);
  const auto actions = job.on(AgentLost{2, "n2: no route"}, kT0);
  CHECK(text_of(actions) == "close 2, say, dismiss 0");
  CHECK(said_by(actions).find("2 of 3 nodes cannot be used") != std::string::npos);
  CHECK(said_by(actions).find("1 of at least 2 nodes is ready") != std::string::npos);
  CHECK(goodbye(job, {0}) == "close 0, finish 69, bad 1,2");
}

TEST_CASE("after a loss the survivors go on without it, and no restart is counted") {
  JobState job = started(4, 2, elastic(2, 4));
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0)) ==
        "close 1, open 4, say, stop 0 10000, stop 2 10000, stop 3 10000");
  for (const int rank : {0, 1, 4, 5, 6, 7}) job.on(signaled(rank, SIGTERM), kT0);
  CHECK(clear(job, {0, 2, 3}) == "say, spec 0, spec 1 to 2, spec 2 to 3");
  CHECK(hosts_of(job) == "n0 n2 n3");
  CHECK(job.placement().world_size() == 6);
  CHECK(job.placement().epoch == 1);
  CHECK(job.placement().restarts == 0);
  CHECK(ready(job, {0, 2, 3}) == "go 5000");
  for (int rank = 0; rank < 6; ++rank) job.on(RankStarted{rank, 100 + rank}, kT0 + 30ms);
  for (int rank = 0; rank < 6; ++rank) job.on(exited(rank, 0), kT0 + 1s);
  job.on(AgentLost{4, "n1: no route"}, kT0 + 1s);
  CHECK(clear(job, {0, 2, 3}, kT0 + 1s) == "dismiss 0, dismiss 2, dismiss 3");
  goodbye(job, {0, 2, 3}, kT0 + 1s);
  const auto actions = job.on(OutputWritten{}, kT0 + 1s);
  const auto& verdict = std::get<Conclude>(actions.back()).verdict;
  CHECK(text_of(verdict) == "finish 0, well, unswept n1");
  CHECK(verdict.restarts.empty());
  REQUIRE(verdict.epochs.size() == 2);
  CHECK(verdict.epochs[0].kind == EpochRecord::Kind::start);
  CHECK(verdict.epochs[1].kind == EpochRecord::Kind::lost);
  CHECK(verdict.epochs[1].nodes_before == 4);
  CHECK(verdict.epochs[1].nodes == 3);
  CHECK(verdict.epochs[1].ranks == 6);
  CHECK(verdict.epochs[1].started == 30ms);
}

TEST_CASE("nodes that are lost together are all named") {
  JobState job = started(4, 1, elastic(1, 4));
  JobState few = started(4, 1, elastic(3, 4));
  for (JobState* each : {&job, &few}) {
    each->on(AgentLost{1, "n1: reset"}, kT0);
    each->on(AgentLost{2, "n2: reset"}, kT0);
    for (const int rank : {0, 3}) each->on(signaled(rank, SIGTERM), kT0);
    each->on(AgentCleared{0}, kT0);
  }
  CHECK(said_by(job.on(AgentCleared{3}, kT0)) ==
        "epoch 1: 2 nodes and 2 ranks (before: 4 and 4); n2 is also lost\n");
  job.on(SignalReceived{SIGINT}, kT0);
  for (const int agent : {4, 5}) job.on(AgentLost{agent, "no route"}, kT0);
  job.on(AgentDone{0}, kT0);
  const auto actions = job.on(AgentDone{3}, kT0);
  const auto& verdict = std::get<Conclude>(actions.back()).verdict;
  CHECK(verdict.epochs.back().why == "node n1 is lost: reset; n2 is also lost");

  few.on(AgentCleared{3}, kT0);
  JobState back = few;
  let_pass(few, {0, 3}, kT0 + 60s);
  CHECK(few.cause().note == "n2 is also lost; 2 of at least 3 nodes are ready after 60 s");
  back.on(AgentGreeted{5}, kT0);
  CHECK(said_by(back.on(AgentSwept{5, 0}, kT0)) ==
        "epoch 1: 3 nodes and 3 ranks (before: 4 and 4); n2 joins\n");
}

TEST_CASE("a host that fails at the start is dialed again and named, unless it dials in") {
  JobPolicy policy = elastic(1, 3);
  for (const bool dials_in : {false, true}) {
    if (dials_in) policy.elastic->begin_within = 30s;
    JobState job(placement_of(3, 1), policy);
    job.on(Start{}, kT0);
    for (const int agent : {0, 1}) job.on(AgentGreeted{agent}, kT0);
    CHECK(said_by(job.on(AgentLost{2, "n2: refused"}, kT0)) ==
          fmt::format("n2: refused\nbeginning with 2 nodes{}\n",
                      dials_in ? "" : "; n2 is dialed again until the job ends"));
  }
}

TEST_CASE("a host that is removed before the first epoch is not named as one that failed") {
  JobState job(placement_of(3, 1), elastic(1, 3));
  job.on(Start{}, kT0);
  job.on(AgentGreeted{0}, kT0);
  job.on(AgentLost{2, "n2: refused"}, kT0);
  job.on(HostRetired{2}, kT0);
  const auto actions = job.on(AgentGreeted{1}, kT0);
  CHECK(said_by(actions).empty());
  CHECK(text_of(actions) == "spec 0, spec 1");
}

TEST_CASE("leftover processes of a lost host are said when they are killed, and only then") {
  JobState job = without(2, {0, 1});
  CHECK(said_by(job.on(AgentSwept{3, 2}, kT0 + 5s)) ==
        "n2 was reached again: 2 leftover processes were killed there\n"
        "n2 is ready and joins at the next restart\n");
  job.on(SignalReceived{SIGINT}, kT0 + 6s);
  goodbye(job, {3, 0}, kT0 + 6s);
  const auto actions = job.on(AgentDone{1}, kT0 + 6s);
  const auto& verdict = std::get<Conclude>(actions.back()).verdict;
  for (const std::string& paragraph : verdict_paragraphs(verdict, {}))
    CHECK(paragraph.find("reached again") == std::string::npos);
}

TEST_CASE("a waiting spare fills in for a lost node") {
  JobState job = started(3, 1, elastic(1, 2));
  job.on(AgentLost{0, "n0: reset"}, kT0);
  job.on(signaled(1, SIGTERM), kT0);
  CHECK(clear(job, {1}) == "say, spec 0 to 1, spec 1 to 2");
  CHECK(hosts_of(job) == "n1 n2");
}

TEST_CASE("where not all hosts that wait have room, it is said how many join") {
  JobState job = started(1, 1, elastic(1, 2));
  job.on(HostAdded{{.name = "n1", .slots = 1}}, kT0);
  CHECK(said_by(job.on(AgentGreeted{1}, kT0)) == "n1 is ready and joins at the next restart\n");
  job.on(HostAdded{{.name = "n2", .slots = 1}}, kT0);
  CHECK(said_by(job.on(AgentGreeted{2}, kT0)) ==
        "n2 is ready; of 2 that wait, 1 joins at the next restart\n");
}

TEST_CASE("a lost host that answers joins at the next restart, behind the survivors") {
  JobState job = without(0, {1, 2});
  CHECK(said_by(job.on(AgentSwept{3, 0}, kT0 + 5s)) == "n0 is ready and joins at the next restart\n");
  CHECK(job.placement().epoch == 1);
  job.on(exited(0, 7), kT0 + 6s);
  job.on(signaled(1, SIGTERM), kT0 + 6s);
  CHECK(clear(job, {1, 2}, kT0 + 6s) == "say, spec 0 to 1, spec 1 to 2, spec 2 to 3");
  CHECK(hosts_of(job) == "n1 n2 n0");
  CHECK(job.placement().restarts == 1);
}

TEST_CASE("exit code 94 begins the next epoch at once with all who are there, and counts nothing") {
  JobState job = started(2, 1, elastic(1, 3));
  job.on(HostAdded{{.name = "new"}}, kT0);
  job.on(AgentGreeted{2}, kT0 + 2s);
  CHECK(text_of(job.on(exited(0, 94), kT0 + 3s)) == "say");
  job.on(exited(1, 94), kT0 + 3s);
  CHECK(clear(job, {0, 1}, kT0 + 3s) == "say, spec 0, spec 1, spec 2");
  CHECK(hosts_of(job) == "n0 n1 new");
  CHECK(job.placement().restarts == 0);
  CHECK(ready(job, {0, 1, 2}, kT0 + 3s) == "go 5000");
}

TEST_CASE("ranks that do not follow a 94 are stopped after the grace") {
  JobState job = started(2, 1, elastic(1, 2, {.grace = 2s, .max_restarts = 3}));
  CHECK(text_of(job.on(exited(0, 94), kT0)) == "say");
  clear(job, {0});
  CHECK(let_pass(job, {0, 1}, kT0 + 2s) == "say, stop 1 2000");
  job.on(signaled(1, SIGTERM), kT0 + 2s);
  CHECK(clear(job, {1}, kT0 + 2s) == "say, spec 0, spec 1");
}

TEST_CASE("ranks that exit with 94 again and again wait longer and longer") {
  JobState job = started(1, 1, elastic(1, 1));
  job.on(exited(0, 94), kT0 + 10ms);
  CHECK(clear(job, {0}, kT0 + 10ms) == "say, spec 0");
  ready(job, {0}, kT0 + 10ms);
  job.on(exited(0, 94), kT0 + 20ms);
  CHECK(clear(job, {0}, kT0 + 20ms).empty());
  CHECK(let_pass(job, {0}, kT0 + 1020ms) == "say, spec 0");
}

TEST_CASE("a rank's own failure counts, up to --max-restarts") {
  JobState job = started(2, 1, elastic(1, 2, {.max_restarts = 1}));
  job.on(exited(0, 5), kT0);
  job.on(signaled(1, SIGTERM), kT0);
  CHECK(clear(job, {0, 1}) == "say, spec 0, spec 1");
  ready(job, {0, 1});
  CHECK_MESSAGE(said_by(job.on(exited(0, 5), kT0 + 1s)).empty(), "nothing starts again");
  job.on(signaled(1, SIGTERM), kT0 + 1s);
  CHECK(clear(job, {0, 1}, kT0 + 1s) == "dismiss 0, dismiss 1");
  CHECK(job.cause().note == "after 1 restart");
  CHECK(goodbye(job, {0, 1}, kT0 + 1s) == "close 1, finish 5, rank 0, 1 after it");
}

TEST_CASE("after failures in a row an epoch is delayed, unless the one before had made a step") {
  JobPolicy policy = elastic(2, 2, {.max_restarts = 9});
  policy.trains = true;
  for (const bool steps : {false, true}) {
    JobState job = started(2, 1, policy);
    for (int restart = 0; restart < 2; ++restart) {
      if (steps) job.on(PhaseReached{"first_step", kT0}, kT0);
      const std::string said = said_by(job.on(exited(0, 5), kT0));
      CHECK(said.ends_with(restart == 0 || steps ? "again\n" : "again in 1 s\n"));
      job.on(signaled(1, SIGKILL), kT0);
      clear(job, {0, 1});
      job.on(Tick{}, kT0 + 1s);
      ready(job, {0, 1});
    }
  }
}

TEST_CASE("a failure that the loss of a node explains does not count") {
  JobState job = started(2, 1, elastic(1, 2, {.max_restarts = 0}));
  job.on(exited(0, 1), kT0);  // its peer is gone
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0 + 1s)) == "close 1, open 2, say");
  CHECK(clear(job, {0}, kT0 + 1s) == "say, spec 0");
  CHECK(job.placement().restarts == 0);
}

TEST_CASE("what must not be restarted ends an elastic job as well") {
  JobState job = started(2, 1, elastic(1, 2));
  CHECK(text_of(job.on(exited(0, 93), kT0)) == "stop 0 10000, stop 1 10000");
}

TEST_CASE("below MIN the job waits for hosts, and ends with the cause if they do not come") {
  JobState job = started(2, 1, elastic(2, 2, {.node_timeout = 0ms, .max_restarts = 3}));
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  const auto actions = job.on(AgentCleared{0}, kT0);
  CHECK(said_by(actions) == "waiting up to 60 s for hosts: 1 of at least 2 are ready\n");
  CHECK(job.hosts_waited_for() == "1 of 2 nodes is ready");
  JobState never = job;
  job.on(AgentGreeted{2}, kT0 + 3s);
  CHECK(text_of(job.on(AgentSwept{2, 0}, kT0 + 3s)) == "say, spec 0, spec 1 to 2");
  CHECK(job.hosts_waited_for().empty());

  never.on(AgentLost{2, "n1: no route"}, kT0 + 1s);
  CHECK(let_pass(never, {0}, kT0 + 59s).find("dismiss") == std::string::npos);
  CHECK(let_pass(never, {0}, kT0 + 60s).find("dismiss 0") != std::string::npos);
  CHECK(never.cause().note == "1 of at least 2 nodes is ready after 60 s");
  CHECK(never.cause().kind == Cause::Kind::node);
}

TEST_CASE("--on-loss wait keeps the size, until the wait is over") {
  JobPolicy policy = elastic(1, 2, {.node_timeout = 0ms});
  policy.elastic->on_loss = OnLoss::wait;
  JobState job = started(2, 1, policy);
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  CHECK(clear(job, {0}) == "say");
  JobState alone = job;
  job.on(AgentGreeted{2}, kT0);
  CHECK(text_of(job.on(AgentSwept{2, 0}, kT0)) == "say, spec 0, spec 1 to 2");
  alone.on(AgentLost{2, "n1: no route"}, kT0 + 1s);
  CHECK(let_pass(alone, {0}, kT0 + 60s).ends_with("say, spec 0"));
}

TEST_CASE("a node that is lost before its ranks begin: the others clear up and begin without it") {
  JobState job(placement_of(3, 1), elastic(1, 3));
  job.on(Start{}, kT0);
  for (const int agent : {0, 1, 2}) job.on(AgentGreeted{agent}, kT0);
  job.on(AgentReady{0, 4000}, kT0);
  CHECK(text_of(job.on(AgentLost{2, "n2: reset"}, kT0)) ==
        "close 2, open 3, say, stop 0 10000, stop 1 10000");
  CHECK(clear(job, {0, 1}) == "say, spec 0, spec 1");
  CHECK(ready(job, {0, 1}) == "go 5000");
  CHECK(hosts_of(job) == "n0 n1");
}

TEST_CASE("a training: KILL at once after a loss, a pause for hosts that join") {
  JobState job = started(2, 1, elastic(1, 2, {.max_restarts = 3, .trains = true}));
  CHECK(text_of(job.on(AgentLost{1, "n1: reset"}, kT0)) == "close 1, open 2, say, kill 0");
  job.on(signaled(0, SIGKILL), kT0);
  CHECK(clear(job, {0}) == "say, spec 0");
  CHECK(ready(job, {0}) == "go 5000");
  job.on(AgentGreeted{2}, kT0 + 5s);
  CHECK(job.on(AgentSwept{2, 0}, kT0 + 5s).empty());
  CHECK(let_pass(job, {0, 2}, kT0 + 6s) == "say, PauseRanks");
  CHECK(text_of(job.on(exited(0, 94), kT0 + 7s)) == "say");
  CHECK(clear(job, {0}, kT0 + 7s) == "say, spec 0, spec 1 to 2");
  job.on(SignalReceived{SIGINT}, kT0 + 7s);
  job.on(AgentDone{0}, kT0 + 7s);
  const auto actions = job.on(AgentDone{2}, kT0 + 7s);
  const auto& verdict = std::get<Conclude>(actions.back()).verdict;
  REQUIRE(verdict.epochs.size() == 3);
  CHECK(verdict.epochs[2].kind == EpochRecord::Kind::joined);
  CHECK(verdict.epochs[2].why == "n1 is ready");
  CHECK(verdict.epochs[2].seen == 1s);  // from the order to the first 94
}

TEST_CASE("a training is not paused for a host that waits if there is no room for it any more") {
  JobState job = started(2, 1, elastic(1, 3, {.max_restarts = 3, .trains = true}));
  job.on(HostAdded{{.name = "n2"}}, kT0);
  job.on(AgentGreeted{2}, kT0);
  job.on(SizeWanted{2}, kT0);
  CHECK(let_pass(job, {0, 1, 2}, kT0 + 2s).empty());
}

TEST_CASE("a pause that is not obeyed is said once, and the epoch goes on") {
  JobPolicy policy = elastic(1, 2, {.node_timeout = 2s, .trains = true});
  JobState job(placement_of(2, 1), policy);
  job.on(Start{}, kT0);
  job.on(AgentGreeted{0}, kT0);
  job.on(AgentLost{1, "n1: refused"}, kT0);
  job.on(AgentReady{0, 4000}, kT0);
  CHECK(let_pass(job, {0}, kT0 + 1s) == "open 2");
  job.on(AgentGreeted{2}, kT0 + 1s);
  job.on(AgentSwept{2, 0}, kT0 + 1s);
  CHECK(let_pass(job, {0, 2}, kT0 + 2s) == "say, PauseRanks");
  CHECK(let_pass(job, {0, 2}, kT0 + 21s).empty());
  CHECK(let_pass(job, {0, 2}, kT0 + 22s) == "say");
  CHECK(let_pass(job, {0, 2}, kT0 + 200s).empty());
  CHECK(job.phase_name() == "running");
}

TEST_CASE("a training's rank that lost another one gives that one a second to report its error") {
  JobState job = started(2, 1, elastic(1, 2, {.max_restarts = 3, .trains = true}));
  CHECK(text_of(job.on(exited(0, 69), kT0)) == "say");
  JobState alone = job;
  CHECK(let_pass(alone, {0, 1}, kT0 + 1s) == "kill 0, kill 1");
  CHECK(said_by(job.on(exited(1, 7), kT0 + 100ms)) == "rank 1 on n1: exited 7; this came first\n");
}

TEST_CASE("--admit now stops the ranks for a host that joins") {
  JobPolicy policy = elastic(1, 3);
  policy.elastic->admit = Admit::now;
  JobState job = started(2, 1, policy);
  job.on(HostAdded{{.name = "x"}}, kT0);
  job.on(HostAdded{{.name = "y"}}, kT0);
  job.on(AgentGreeted{2}, kT0 + 1s);
  CHECK(let_pass(job, {0, 1, 2}, kT0 + 1900ms).empty());
  CHECK(let_pass(job, {0, 1, 2}, kT0 + 2s) == "say, stop 0 10000, stop 1 10000");
  for (const int rank : {0, 1}) job.on(signaled(rank, SIGTERM), kT0 + 2s);
  CHECK(clear(job, {0, 1}, kT0 + 2s) == "say, spec 0, spec 1, spec 2");
}

TEST_CASE("Ctrl-C while the job waits for hosts ends it") {
  JobState job = started(2, 1, elastic(2, 2));
  job.on(AgentLost{1, "n1: reset"}, kT0);
  job.on(signaled(0, SIGTERM), kT0);
  clear(job, {0});
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "dismiss 0");
}

TEST_CASE("Ctrl-C while ranks pause stops them") {
  JobState job = started(2, 1, elastic(1, 2));
  job.on(exited(0, 94), kT0);
  CHECK(text_of(job.on(SignalReceived{SIGINT}, kT0)) == "stop 0 10000, stop 1 10000");
}

TEST_CASE("the number of nodes chooses what gathering does") {
  const auto step = [](int here, int coming, int before, bool overdue, OnLoss on_loss) {
    return gather_step({here, coming, before, overdue, false, {2, 4}, on_loss});
  };
  using enum GatherStep;
  CHECK(step(4, 3, 0, false, OnLoss::smaller) == begin);
  CHECK(gather_step({.here = 4, .coming = 1, .earlier = true, .nodes = {2, 4}}) == wait);
  CHECK(gather_step({.here = 4, .before = 3, .earlier = true, .nodes = {2, 4}}) == begin);
  CHECK(step(3, 1, 0, false, OnLoss::smaller) == wait);
  CHECK(step(3, 0, 0, false, OnLoss::smaller) == begin);
  CHECK(step(1, 0, 0, false, OnLoss::smaller) == give_up);
  CHECK(step(2, 2, 0, true, OnLoss::smaller) == begin);
  CHECK(step(1, 2, 0, true, OnLoss::smaller) == wait);
  CHECK(step(2, 0, 4, false, OnLoss::smaller) == begin);
  CHECK(step(2, 9, 4, false, OnLoss::wait) == wait);
  CHECK(step(4, 0, 4, false, OnLoss::wait) == begin);
  CHECK(step(2, 0, 4, true, OnLoss::wait) == begin);
  CHECK(step(1, 9, 4, false, OnLoss::smaller) == wait);
  CHECK(step(1, 9, 4, true, OnLoss::wait) == give_up);
}
