// Hosts that leave because their nodes were told to end, as pods of a smaller StatefulSet are.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

/// A job on n0 to n3, one rank each, that runs since kT0; a training has made its first step.
JobState changing_job(int least, bool trains) {
  JobPolicy policy{.max_restarts = 3, .trains = trains};
  policy.elastic = ElasticPolicy{.nodes = {least, 4}, .max_wait = 60s};
  JobState job(placement_of(4, 1), policy);
  job.on(Start{}, kT0);
  for (int agent = 0; agent < 4; ++agent) job.on(AgentGreeted{agent}, kT0);
  for (int agent = 0; agent < 4; ++agent) job.on(AgentReady{agent, 4000}, kT0);
  REQUIRE(job.phase_name() == "running");
  if (trains) job.on(PhaseReached{"first_step", kT0}, kT0);
  return job;
}

/// The ranks of these agents, numbered as they, end with a code; returns what the last agent brings.
std::string all_end(JobState& job, int code, std::initializer_list<int> agents) {
  int rank = 0;
  for (const int agent : agents) {
    (void)agent;
    job.on(exited(rank++, code), kT0);
  }
  std::string text;
  for (const int agent : agents) text = text_of(job.on(AgentCleared{agent}, kT0));
  return text;
}

std::string all_ready(JobState& job, std::initializer_list<int> agents) {
  std::string text;
  for (const int agent : agents) text = text_of(job.on(AgentReady{agent, 5000}, kT0));
  return text;
}

/// As changing_job, of a training that has kept its states.
JobState keeping_job(int least) {
  JobState job = changing_job(least, true);
  job.on(PhaseReached{"kept", kT0}, kT0);
  return job;
}

/// As keeping_job, whose host `gone` was removed; the ranks of the others, in `rest`, run.
JobState job_without(int gone, std::initializer_list<int> rest) {
  JobState job = keeping_job(1);
  job.on(HostRetired{gone}, kT0);
  all_end(job, 94, {0, 1, 2, 3});
  all_ready(job, rest);
  return job;
}

}  // namespace

TEST_CASE("hosts of a training leave one after the other, each after a step of the epoch before") {
  JobState job = changing_job(1, true);
  const auto actions = job.on(HostsEnd{{2, 3}}, kT0);
  CHECK(text_of(actions) == "say, PauseRanks");
  CHECK(said_by(actions) == "n2 must leave; pausing the training\n");
  CHECK(all_end(job, 94, {0, 1, 2, 3}) ==
        "let go of n2, dismiss 2, say, spec 0, spec 1, spec 2 to 3");
  CHECK(all_ready(job, {0, 1, 3}) == "go 5000");
  CHECK(text_of(job.on(PhaseReached{"first_step", kT0}, kT0)) == "say, PauseRanks");
  CHECK(all_end(job, 94, {0, 1, 3}) == "let go of n3, dismiss 3, say, spec 0, spec 1");
}

TEST_CASE("what a host that left keeps is held until the next epoch keeps its own states") {
  JobState job = keeping_job(1);
  job.on(HostsEnd{{3}}, kT0);
  CHECK(all_end(job, 94, {0, 1, 2, 3}) == "say, spec 0, spec 1, spec 2");
  CHECK(all_ready(job, {0, 1, 2}) == "go 5000");
  CHECK(job.on(PhaseReached{"first_step", kT0}, kT0).empty());
  CHECK(job.host_roles()[3] == HostRole::retired);
  CHECK(text_of(job.on(PhaseReached{"kept", kT0}, kT0)) == "let go of n3, dismiss 3");

  SUBCASE("a later loss goes on without it") {
    job.on(AgentDone{3}, kT0);
    job.on(AgentLost{2, "n2: reset"}, kT0);
    for (const int rank : {0, 1}) job.on(signaled(rank, SIGKILL), kT0);
    job.on(AgentCleared{0}, kT0);
    CHECK(text_of(job.on(AgentCleared{1}, kT0)) == "say, spec 0, spec 1");
  }
}

TEST_CASE("an epoch that is lost before its states are kept takes back a host that left") {
  JobState job = job_without(1, {0, 2, 3});
  job.on(AgentLost{3, "n3: reset"}, kT0);
  for (const int rank : {0, 1}) job.on(signaled(rank, SIGKILL), kT0);
  job.on(AgentCleared{0}, kT0);
  const auto actions = job.on(AgentCleared{2}, kT0);
  CHECK(text_of(actions) == "say, spec 0, spec 1 to 2, spec 2 to 1");
  CHECK(said_by(actions) ==
        "epoch 2: 3 nodes and 3 ranks; n1 takes part once more with the states kept there\n");
  CHECK(all_ready(job, {0, 2, 1}) == "go 5000");
  CHECK(job.on(PhaseReached{"first_step", kT0}, kT0).empty());

  SUBCASE("and lets it go when all is well") {
    CHECK(text_of(job.on(PhaseReached{"kept", kT0}, kT0)) == "say, PauseRanks");
    CHECK(all_end(job, 94, {0, 2, 1}) == "say, spec 0, spec 1 to 2");
    all_ready(job, {0, 2});
    CHECK(text_of(job.on(PhaseReached{"kept", kT0}, kT0)) == "dismiss 1");
  }
  SUBCASE("and once more if a rank fails before") {
    for (const int rank : {0, 1, 2}) job.on(exited(rank, 1), kT0);
    for (const int agent : {0, 1}) job.on(AgentCleared{agent}, kT0);
    CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "say, spec 0, spec 1 to 2, spec 2 to 1");
  }
  SUBCASE("and does without it if its program cannot be run there any more") {
    job.on(exited(2, 65), kT0);
    for (const int rank : {0, 1}) job.on(signaled(rank, SIGTERM), kT0);
    for (const int agent : {0, 1}) job.on(AgentCleared{agent}, kT0);
    CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "dismiss 1, say, spec 0, spec 1 to 2");
  }
}

TEST_CASE("a host that shall leave takes part once more if another one is lost before") {
  JobState job = keeping_job(1);
  CHECK(text_of(job.on(HostRetired{1}, kT0)) == "say, PauseRanks");
  SUBCASE("it pauses") {
    job.on(AgentLost{3, "n3: reset"}, kT0);
    for (const int rank : {0, 1, 2}) job.on(signaled(rank, SIGKILL), kT0);
    for (const int agent : {0, 1}) job.on(AgentCleared{agent}, kT0);
    const auto actions = job.on(AgentCleared{2}, kT0);
    CHECK(text_of(actions) == "say, spec 0, spec 1 to 2, spec 2 to 1");
    CHECK(said_by(actions) ==
          "epoch 1: 3 nodes and 3 ranks (before: 4 and 4); n1 takes part once more with the states "
          "kept there\n");
  }
  SUBCASE("it has paused") {
    for (const int rank : {0, 1, 2, 3}) job.on(exited(rank, 94), kT0);
    job.on(AgentCleared{3}, kT0);
    job.on(AgentLost{3, "n3: reset"}, kT0);
    for (const int agent : {0, 1}) job.on(AgentCleared{agent}, kT0);
    CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "say, spec 0, spec 1 to 2, spec 2 to 1");
  }
}

TEST_CASE("hosts of a training that leave at once do so one after the other") {
  JobState job = keeping_job(1);
  job.on(HostRetired{1}, kT0);
  job.on(HostRetired{2}, kT0);
  CHECK(all_end(job, 94, {0, 1, 2, 3}) == "say, spec 0, spec 1 to 2, spec 2 to 3");
  all_ready(job, {0, 2, 3});
  job.on(PhaseReached{"first_step", kT0}, kT0);
  CHECK(text_of(job.on(PhaseReached{"kept", kT0}, kT0)) == "dismiss 1, say, PauseRanks");
  CHECK(all_end(job, 94, {0, 2, 3}) == "say, spec 0, spec 1 to 3");
}

TEST_CASE("a host that has taken part once more stays while fewer than MIN would be left") {
  JobState job = keeping_job(2);
  job.on(HostRetired{1}, kT0);
  job.on(AgentLost{3, "n3: reset"}, kT0);
  job.on(AgentLost{2, "n2: reset"}, kT0);
  for (const int rank : {0, 1}) job.on(signaled(rank, SIGKILL), kT0);
  job.on(AgentCleared{0}, kT0);
  CHECK(text_of(job.on(AgentCleared{1}, kT0)) == "say, spec 0, spec 1");
  all_ready(job, {0, 1});
  job.on(PhaseReached{"first_step", kT0}, kT0);
  CHECK(job.on(PhaseReached{"kept", kT0}, kT0).empty());
}

TEST_CASE("a training that pauses may tell late that its states are kept") {
  JobState job = changing_job(1, true);
  job.on(HostRetired{3}, kT0);
  job.on(exited(0, 94), kT0);
  job.on(PhaseReached{"kept", kT0}, kT0);
  for (const int rank : {1, 2, 3}) job.on(exited(rank, 94), kT0);
  for (const int agent : {0, 1, 2}) job.on(AgentCleared{agent}, kT0);
  CHECK(text_of(job.on(AgentCleared{3}, kT0)) == "say, spec 0, spec 1, spec 2");
}

TEST_CASE("a host that shall leave does so although a rank has failed") {
  JobState job = keeping_job(1);
  job.on(HostsEnd{{3}}, kT0);
  job.on(exited(0, 143), kT0);  // all ranks of a training save and end together
  for (const int rank : {1, 2, 3}) job.on(exited(rank, 143), kT0);
  for (const int agent : {0, 1, 2, 3}) job.on(AgentCleared{agent}, kT0);
  CHECK(text_of(job.on(Tick{}, kT0 + 1s)) == "beat, say, spec 0, spec 1, spec 2");
}

TEST_CASE("a host that leaves is not held for ever by ranks that keep nothing") {
  JobState job = job_without(3, {0, 1, 2});
  job.on(PhaseReached{"first_step", kT0}, kT0);
  CHECK(let_pass(job, {0, 1, 2, 3}, kT0 + 9min).empty());
  CHECK(let_pass(job, {0, 1, 2, 3}, kT0 + 10min) == "dismiss 3");
}

TEST_CASE("a host that is added again is no longer held") {
  JobState job = keeping_job(1);
  job.on(HostRetired{3}, kT0);
  all_end(job, 94, {0, 1, 2, 3});
  CHECK(text_of(job.on(HostAdded{{.name = "n3", .slots = 1}}, kT0)) == "dismiss 3, open 4");
}

TEST_CASE("a host that takes part once more leaves no room for one that was added in its place") {
  JobPolicy policy{.max_restarts = 3, .trains = true};
  policy.elastic = ElasticPolicy{.nodes = {1, 3}, .max_wait = 60s};
  const std::vector<Host> hosts{
      {.name = "n0", .slots = 4}, {.name = "n1", .slots = 2}, {.name = "n2", .slots = 2}};
  JobState job(place_ranks(hosts, std::nullopt, 0), policy);
  job.on(Start{}, kT0);
  for (const int agent : {0, 1, 2}) job.on(AgentGreeted{agent}, kT0);
  all_ready(job, {0, 1, 2});
  job.on(PhaseReached{"first_step", kT0}, kT0);
  job.on(PhaseReached{"kept", kT0}, kT0);
  job.on(HostRetired{0}, kT0);
  job.on(HostAdded{{.name = "n3", .slots = 4}}, kT0);
  job.on(AgentGreeted{3}, kT0);
  job.on(HostChecked{3, ""}, kT0);
  job.on(AgentLost{1, "n1: reset"}, kT0);
  for (const int rank : {0, 1, 2, 3, 6, 7}) job.on(signaled(rank, SIGKILL), kT0);
  job.on(AgentCleared{0}, kT0);
  CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "say, spec 0 to 2, spec 1 to 0");
  CHECK(job.placement().world_size() == 6);
}

TEST_CASE("TERM between two epochs of a training: its ranks begin once more, save and stop") {
  JobState job = keeping_job(2);
  job.on(HostRetired{3}, kT0);
  for (const int rank : {0, 1, 2, 3}) job.on(exited(rank, 94), kT0);
  for (const int agent : {0, 1, 2}) job.on(AgentCleared{agent}, kT0);
  CHECK(said_by(job.on(SignalReceived{SIGTERM}, kT0)) ==
        "got SIGTERM; the ranks begin once more to save the states that are kept, and then stop; a "
        "second signal stops without that\n");
  CHECK(text_of(job.on(AgentCleared{3}, kT0)) == "say, spec 0, spec 1, spec 2, spec 3");
  SUBCASE("which they do") {
    all_ready(job, {0, 1, 2, 3});
    CHECK(text_of(job.on(PhaseReached{"first_step", kT0}, kT0)) ==
          "stop 0 10000, stop 1 10000, stop 2 10000, stop 3 10000");
    CHECK(job.cause().signo == SIGTERM);
  }
  SUBCASE("which fails") {
    all_ready(job, {0, 1, 2, 3});
    job.on(exited(0, 1), kT0);
    CHECK(job.phase_name() == "stopping");
    CHECK(job.cause().signo == SIGTERM);
  }
  SUBCASE("and a second signal") {
    job.on(SignalReceived{SIGINT}, kT0);
    CHECK(job.phase_name() == "stopping");
  }
}

TEST_CASE("TERM while a training pauses: its ranks begin once more, save and stop") {
  JobState job = keeping_job(2);
  CHECK(text_of(job.on(HostRetired{3}, kT0)) == "say, PauseRanks");
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0)) == "say");
  SUBCASE("after they have paused") {
    CHECK(all_end(job, 94, {0, 1, 2, 3}) == "say, spec 0, spec 1, spec 2, spec 3");
    all_ready(job, {0, 1, 2, 3});
    CHECK(text_of(job.on(PhaseReached{"first_step", kT0}, kT0)) ==
          "stop 0 10000, stop 1 10000, stop 2 10000, stop 3 10000");
    CHECK(job.cause().signo == SIGTERM);
  }
  SUBCASE("also if one of them fails meanwhile") {
    job.on(exited(0, 1), kT0);
    CHECK(job.phase_name() == "restarting");
  }
  SUBCASE("at once if they do not pause, because then they can save now") {
    CHECK(text_of(job.on(Tick{}, kT0 + 100s)).ends_with("stop 3 10000"));
    CHECK(job.phase_name() == "stopping");
  }
  SUBCASE("at once if they got TERM too, because then they have saved") {
    job.on(exited(0, 143), kT0);
    CHECK(job.phase_name() == "stopping");
  }
}

TEST_CASE("TERM while a training pauses that saves instead of keeping: it stops then") {
  JobState job = changing_job(2, true);
  job.on(HostRetired{3}, kT0);
  job.on(SignalReceived{SIGTERM}, kT0);
  for (const int rank : {0, 1, 2, 3}) job.on(exited(rank, 94), kT0);
  SUBCASE("") {
    for (const int agent : {0, 1, 2, 3}) job.on(AgentCleared{agent}, kT0);
    CHECK(job.phase_name() == "stopping");
  }
  SUBCASE("but not if it tells late that it has kept them") {
    job.on(PhaseReached{"kept", kT0}, kT0);
    for (const int agent : {0, 1, 2, 3}) job.on(AgentCleared{agent}, kT0);
    CHECK(job.phase_name() == "starting");
  }
}

TEST_CASE("a job without a grace stops at once, also between two epochs") {
  JobState job = keeping_job(2);
  job.on(HostRetired{3}, kT0);
  job.on(exited(0, 94), kT0);
  job.set_grace(0s);
  job.on(SignalReceived{SIGTERM}, kT0);
  CHECK(job.phase_name() == "stopping");
}

TEST_CASE("TERM between two epochs stops a training at once that would save nothing") {
  JobState job = keeping_job(2);
  job.on(StatesTold{.saves_at_stop = false}, kT0);
  job.on(HostRetired{3}, kT0);
  job.on(exited(0, 94), kT0);
  CHECK(job.on(SignalReceived{SIGTERM}, kT0).size() == 4);  // TERM to the ranks that are left
  CHECK(job.phase_name() == "stopping");
}

TEST_CASE("a training that can neither keep nor save its states is not asked to pause") {
  JobState job = changing_job(1, true);
  CHECK(!job.loses_steps());
  job.on(StatesTold{.may_pause = false, .saves_at_stop = false}, kT0);
  CHECK(job.loses_steps());
  CHECK(text_of(job.on(HostsEnd{{3}}, kT0)) ==
        "say, stop 0 10000, stop 1 10000, stop 2 10000, stop 3 10000");
  CHECK(!job.loses_steps());
}

TEST_CASE("ranks that got TERM before their launcher have saved, and do not begin once more") {
  JobState job = keeping_job(2);
  for (const int rank : {0, 1, 2, 3}) job.on(exited(rank, 143), kT0);
  job.on(SignalReceived{SIGTERM}, kT0);
  CHECK(job.phase_name() == "stopping");
}

TEST_CASE("TERM while a training waits for hosts: those that are there save") {
  JobState job = keeping_job(4);
  job.on(AgentLost{3, "n3: reset"}, kT0);
  for (const int rank : {0, 1, 2}) job.on(signaled(rank, SIGKILL), kT0);
  for (const int agent : {0, 1}) job.on(AgentCleared{agent}, kT0);
  CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "say");
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0)) == "say, say, spec 0, spec 1, spec 2");
}

TEST_CASE("a host that left comes back as a host that joins") {
  JobState job = changing_job(1, true);
  job.on(HostsEnd{{3}}, kT0);
  all_end(job, 94, {0, 1, 2, 3});
  all_ready(job, {0, 1, 2});
  CHECK(text_of(job.on(AgentDone{3}, kT0)) == "close 3");
  CHECK(let_pass(job, {0, 1, 2}, kT0) == "open 4");
  job.on(AgentGreeted{4}, kT0 + 1s);
  CHECK(text_of(job.on(AgentSwept{4, 0}, kT0 + 1s)) == "check 4");
  job.on(HostChecked{4}, kT0 + 1s);
  CHECK(let_pass(job, {0, 1, 2, 4}, kT0 + 2s) == "say, PauseRanks");
}

TEST_CASE("a host that is checked or dialed leaves at once, and may come back") {
  JobState job = changing_job(1, true);
  job.on(HostAdded{{.name = "n4"}}, kT0);
  SUBCASE("while it is dialed") {
    CHECK(text_of(job.on(HostsEnd{{4}}, kT0)) == "let go of n4, close 4");
  }
  SUBCASE("while it is checked") {
    CHECK(text_of(job.on(AgentGreeted{4}, kT0)) == "check 4");
    CHECK(text_of(job.on(HostsEnd{{4}}, kT0)) == "let go of n4, dismiss 4");
    job.on(AgentDone{4}, kT0);
  }
  SUBCASE("after its check has failed") {
    job.on(AgentGreeted{4}, kT0);
    job.on(HostChecked{4, "it has another build"}, kT0);
    job.on(AgentDone{4}, kT0);
    CHECK(text_of(job.on(HostsEnd{{4}}, kT0)) == "let go of n4");
  }
  CHECK(let_pass(job, {0, 1, 2, 3}, kT0) == "open 5");
  CHECK(job.host_roles()[4] == HostRole::away);
}

TEST_CASE("hosts of other programs leave at once and together; those that wait too") {
  JobState job = changing_job(1, false);
  CHECK(text_of(job.on(HostsEnd{{1, 3}}, kT0)) ==
        "say, stop 0 10000, stop 1 10000, stop 2 10000, stop 3 10000");
  CHECK(all_end(job, 143, {0, 1, 2, 3}) ==
        "let go of n1, dismiss 1, let go of n3, dismiss 3, say, spec 0, spec 1 to 2");
}

TEST_CASE("the job stops if fewer than MIN would stay") {
  JobState job = changing_job(3, true);
  CHECK(text_of(job.on(HostsEnd{{2, 3}}, kT0)) ==
        "stop 0 10000, stop 1 10000, stop 2 10000, stop 3 10000");
  CHECK(job.cause().kind == Cause::Kind::signal);
  CHECK(job.cause().signo == SIGTERM);
}

TEST_CASE("a signal that reaches the root after too many nodes is no second request") {
  JobState job = changing_job(3, true);
  job.on(HostsEnd{{2, 3}}, kT0);
  CHECK(job.phase_name() == "stopping");
  CHECK(job.on(SignalReceived{SIGTERM}, kT0 + 3s).empty());
  CHECK(text_of(job.on(SignalReceived{SIGTERM}, kT0 + 6s)).starts_with("kill 0"));
}

TEST_CASE("a node of a host that was removed may end when it is told to") {
  JobState job = keeping_job(1);
  job.on(HostRetired{3}, kT0);
  SUBCASE("while its ranks run") {
    job.on(HostsEnd{{3}}, kT0);
    all_end(job, 94, {0, 1, 2, 3});
    all_ready(job, {0, 1, 2});
    CHECK(text_of(job.on(PhaseReached{"kept", kT0}, kT0)) == "let go of n3, dismiss 3");
  }
  SUBCASE("while its agent is held") {
    all_end(job, 94, {0, 1, 2, 3});
    job.on(HostsEnd{{3}}, kT0);
    all_ready(job, {0, 1, 2});
    CHECK(text_of(job.on(PhaseReached{"kept", kT0}, kT0)) == "let go of n3, dismiss 3");
  }
  SUBCASE("when its agent is gone") {
    all_end(job, 94, {0, 1, 2, 3});
    all_ready(job, {0, 1, 2});
    job.on(PhaseReached{"kept", kT0}, kT0);
    job.on(AgentDone{3}, kT0);
    CHECK(text_of(job.on(HostsEnd{{3}}, kT0)) == "let go of n3");
  }
  SUBCASE("when it is lost") {
    job.on(HostsEnd{{3}}, kT0);
    CHECK(text_of(job.on(AgentLost{3, "n3: reset"}, kT0)).find("let go of n3") != std::string::npos);
  }
  CHECK(job.host_roles()[3] == HostRole::retired);
}

TEST_CASE("all hosts end, as when a batch system ends the job: it stops, also between two epochs") {
  JobState job = changing_job(1, true);
  job.on(exited(0, 143), kT0);
  REQUIRE(job.phase_name() == "restarting");
  job.on(HostsEnd{{0, 1, 2, 3}}, kT0);
  CHECK(job.phase_name() == "stopping");
  CHECK(job.cause().signo == SIGTERM);
}

TEST_CASE("before the first step of a training no host leaves") {
  JobPolicy policy{.max_restarts = 3, .trains = true};
  policy.elastic = ElasticPolicy{.nodes = {1, 2}, .max_wait = 60s};
  JobState job(placement_of(2, 1), policy);
  job.on(Start{}, kT0);
  for (const int agent : {0, 1}) job.on(AgentGreeted{agent}, kT0);
  CHECK(job.on(HostsEnd{{1}}, kT0).empty());
  all_ready(job, {0, 1});
  CHECK(text_of(job.on(PhaseReached{"first_step", kT0}, kT0)) == "say, PauseRanks");
}

TEST_CASE("a host that is lost before it leaves is lost as any other") {
  JobState job = changing_job(1, true);
  job.on(HostsEnd{{2, 3}}, kT0);
  CHECK(text_of(job.on(AgentLost{3, "n3: reset"}, kT0)) ==
        "close 3, open 4, say, kill 0, kill 1, kill 2");
  for (const int rank : {0, 1, 2}) job.on(signaled(rank, SIGKILL), kT0);
  for (const int agent : {0, 1}) job.on(AgentCleared{agent}, kT0);
  CHECK(text_of(job.on(AgentCleared{2}, kT0)) == "let go of n2, dismiss 2, say, spec 0, spec 1");
}

TEST_CASE("the first epoch waits for the hosts that are known to be there, not for others") {
  JobPolicy policy{.max_restarts = 3};
  policy.elastic = ElasticPolicy{.nodes = {1, 4}, .max_wait = 60s, .known = 2};
  JobState job(placement_of(4, 1), policy);
  job.on(Start{}, kT0);
  CHECK(job.on(AgentGreeted{0}, kT0).empty());
  CHECK(text_of(job.on(AgentGreeted{2}, kT0)) == "spec 0, spec 1 to 2");
}

TEST_CASE("a failure that came before the end of ranks whose node was told to end counts") {
  JobState job = changing_job(1, true);
  job.on(HostsEnd{{3}}, kT0);
  RankExited told = exited(3, 143), failed = exited(0, 1);
  told.time = {.here = kT0 + 20ms, .error = 1ms};
  failed.time = {.here = kT0 + 5ms, .error = 1ms};
  job.on(told, kT0 + 20ms);
  job.on(failed, kT0 + 21ms);
  for (const int rank : {1, 2}) job.on(exited(rank, 143), kT0 + 21ms);
  for (const int agent : {0, 1, 2, 3}) job.on(AgentCleared{agent}, kT0 + 21ms);
  CHECK(said_by(job.on(Tick{}, kT0 + 2s)).ends_with("; restart 1 of 3\n"));
}

TEST_CASE("ranks that end by the signal that their node was sent have not failed") {
  JobState job = changing_job(1, true);
  job.on(HostsEnd{{3}}, kT0);
  job.on(exited(0, 143), kT0);  // all ranks of a training save and end together
  for (const int rank : {1, 2, 3}) job.on(exited(rank, 143), kT0);
  for (const int agent : {0, 1, 2}) job.on(AgentCleared{agent}, kT0);
  CHECK(text_of(job.on(AgentCleared{3}, kT0)) == "let go of n3, dismiss 3");
  CHECK(text_of(job.on(Tick{}, kT0 + 1s)) == "beat, say, spec 0, spec 1, spec 2");
}
