// Tests AgentState: events and a clock in, actions out.
#include "launcher/agent/agent_state.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>

using ds::Clock;
using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kT0{1000s};
using Actions = std::vector<AgentAction>;

Spec spec_of(int ranks) {
  Spec spec{.programs = {{.argv = {"true"}}}};
  for (int i = 0; i < ranks; ++i) spec.ranks.push_back({.rank = i, .local_rank = i});
  spec.grace_ms = 10000;
  return spec;
}

AgentState running(int ranks = 2, Spec spec = spec_of(2)) {
  spec.ranks.resize(static_cast<std::size_t>(ranks));
  AgentState state(kT0);
  state.on(FrameCame{spec}, kT0);
  state.on(PortHeld{4000}, kT0);
  state.on(FrameCame{Go{}}, kT0);
  return state;
}

bool finishes(const Actions& actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](const auto& a) { return std::holds_alternative<Finish>(a); });
}

}  // namespace

TEST_CASE("a Spec without a command for every rank is refused") {
  for (const int program : {-1, 1}) {
    Spec spec{.programs = {{.argv = {"true"}}}};
    spec.ranks = {{.program = program}};
    AgentState agent(kT0);
    const auto actions = agent.on(FrameCame{spec}, kT0);
    REQUIRE(actions.size() == 2);
    CHECK(std::get<Send>(actions[0]).message == Message(Problem{"the Spec has no program to run"}));
  }
}

TEST_CASE("a job from Spec to Bye") {
  AgentState state(kT0);
  CHECK(state.on(FrameCame{spec_of(1)}, kT0) == Actions{Act::hold_port});
  CHECK(state.on(PortHeld{4000}, kT0) == Actions{Send{Ready{4000}}});
  const Go go{{{"MASTER_PORT", "4000"}}};
  CHECK(state.on(FrameCame{go}, kT0) == Actions{StartRanks{go.env}});
  const Exited end{.rank = 0, .wait_status = 7 << 8};
  CHECK(state.on(end, kT0) == Actions{Send{end}});
  CHECK(state.on(NodeEmpty{}, kT0) == Actions{Send{Bye{}}, Finish{0}});
  CHECK_MESSAGE(state.on(NodeEmpty{}, kT0).empty(), "Finish comes once");
}

TEST_CASE("background processes that were killed after a good end are counted in Bye") {
  AgentState state = running();
  CHECK(state.on(BackgroundKilled{2}, kT0).empty());
  CHECK(state.on(BackgroundKilled{1}, kT0).empty());
  CHECK(state.on(NodeEmpty{}, kT0) == Actions{Send{Bye{3}}, Finish{0}});
  AgentState stopped = running();
  stopped.on(FrameCame{Stop{1000}}, kT0);
  stopped.on(BackgroundKilled{2}, kT0);
  CHECK(stopped.on(NodeEmpty{}, kT0) == Actions{Send{Bye{0}}, Finish{0}});
}

TEST_CASE("only ranks that end by themselves leave processes, and the guard hears of it") {
  Spec spec = spec_of(1);
  spec.leave = true;
  AgentState state = running(1, spec);
  CHECK(state.leaves_processes());
  CHECK(state.on(NodeEmpty{}, kT0) == Actions{Send{Bye{}}, Finish{kLeavesProcesses}});
  const std::vector<AgentEvent> ends = {FrameCame{Stop{1000}}, FrameCame{Kill{}}, RootLost{},
                                        LinkLost{"the guard was killed"}};
  for (const AgentEvent& end : ends) {
    AgentState stopped = running(1, spec);
    stopped.on(end, kT0);
    CHECK_FALSE(stopped.leaves_processes());
    const Actions last = stopped.on(NodeEmpty{}, kT0);
    CHECK(last.back() != AgentAction(Finish{kLeavesProcesses}));
  }
}

TEST_CASE("an agent that waits for its next epoch sends four heartbeats in a node timeout") {
  Spec spec = spec_of(1);
  spec.keep_agent = true;
  spec.node_timeout_ms = 2000;
  AgentState state = running(1, spec);
  CHECK(state.on(NodeEmpty{}, kT0) == Actions{Send{Cleared{}}, Act::forget_ranks});
  Clock::time_point now = kT0;
  for (int beats = 0; beats < 8; ++beats) {
    const Clock::time_point next = state.wake_at();
    CHECK(next - now <= 500ms);
    now = next;
    CHECK(state.on(TimePassed{}, now) == Actions{Send{Heartbeat{}}});
    state.on(FrameCame{Heartbeat{}}, now);
  }
}

TEST_CASE("Stop is TERM once, KILL after the grace, everything if that does not help") {
  AgentState state = running();
  CHECK(state.on(FrameCame{Stop{5000}}, kT0) == Actions{SignalMains{SIGTERM}});
  CHECK_MESSAGE(state.on(FrameCame{Stop{2000}}, kT0).empty(), "a second one shortens the grace");
  state.on(FrameCame{Heartbeat{}}, kT0 + 1900ms);
  CHECK(state.on(TimePassed{}, kT0 + 2s) == Actions{Send{Heartbeat{}}, Act::kill_ranks});
  state.on(FrameCame{Heartbeat{}}, kT0 + 4s);
  CHECK(state.on(TimePassed{}, kT0 + 4s) == Actions{Send{Heartbeat{}}, Act::kill_everything});
  CHECK(state.on(TimePassed{}, kT0 + 5s) == Actions{Send{Heartbeat{}}});
  CHECK(finishes(state.on(NodeEmpty{}, kT0 + 5s)));
}

TEST_CASE("Kill does not wait") {
  AgentState state = running();
  CHECK(state.on(FrameCame{Kill{}}, kT0) == Actions{Act::kill_ranks});
  CHECK(state.on(FrameCame{Kill{}}, kT0).empty());
  CHECK(state.on(FrameCame{Stop{0}}, kT0).empty());
}

TEST_CASE("before Go there is nothing to stop") {
  AgentState state(kT0);
  state.on(FrameCame{spec_of(1)}, kT0);
  CHECK(state.on(FrameCame{Kill{}}, kT0) == Actions{Send{Bye{}}, Finish{0}});
  AgentState early(kT0);
  CHECK(finishes(early.on(RootLost{}, kT0)));
}

TEST_CASE("a lost root is a Stop with at most 3 s, and nothing is said into the void") {
  AgentState state = running();
  CHECK(state.on(RootLost{}, kT0) == Actions{SignalMains{SIGTERM}});
  CHECK(state.on(TimePassed{}, kT0 + 2999ms).empty());
  CHECK(state.on(TimePassed{}, kT0 + 3s) == Actions{Act::kill_ranks});
}

TEST_CASE("a shorter grace than 3 s holds for a lost root too") {
  Spec spec = spec_of(2);
  spec.grace_ms = 500;
  AgentState state = running(2, spec);
  state.on(RootLost{}, kT0);
  CHECK(state.on(TimePassed{}, kT0 + 500ms) == Actions{Act::kill_ranks});
}

TEST_CASE("a silent root is lost after the node timeout, not before, and not while suspended") {
  AgentState state = running();
  state.on(FrameCame{Heartbeat{}}, kT0 + 5s);
  state.on(TimePassed{}, kT0 + 12s);
  const Actions late = state.on(TimePassed{}, kT0 + 13s);
  CHECK(std::count(late.begin(), late.end(), AgentAction(SignalMains{SIGTERM})) == 1);

  AgentState paused = running();
  CHECK(paused.on(FrameCame{Suspend{}}, kT0) == Actions{Act::suspend_ranks});
  CHECK(paused.on(TimePassed{}, kT0 + 1h) == Actions{Send{Heartbeat{}}});
  CHECK(paused.on(FrameCame{Resume{}}, kT0 + 1h) == Actions{Act::resume_ranks});
  CHECK(paused.wake_at() > kT0 + 1h);
}

TEST_CASE("a root that a debugger has stopped is not lost by its silence") {
  AgentState state = running();
  state.on(RootTraced{}, kT0 + 7s);
  CHECK(state.on(TimePassed{}, kT0 + 14s) == Actions{Send{Heartbeat{}}});
  CHECK(std::ranges::count(state.on(TimePassed{}, kT0 + 15s), AgentAction(SignalMains{SIGTERM})) ==
        1);
}

TEST_CASE("a job that starts suspended goes on at Resume, and waits for it without a limit") {
  AgentState state(kT0);
  state.on(FrameCame{spec_of(1)}, kT0);
  state.on(PortHeld{}, kT0);
  CHECK(state.on(FrameCame{Go{{}, true}}, kT0) == Actions{StartRanks{{}, true}});
  CHECK(state.suspended());
  CHECK(state.on(TimePassed{}, kT0 + 1h) == Actions{Send{Heartbeat{}}});
  CHECK_MESSAGE(state.on(FrameCame{Suspend{}}, kT0 + 1h).empty(), "it is suspended already");
  CHECK(state.on(FrameCame{Resume{}}, kT0 + 1h) == Actions{Act::resume_ranks});
  CHECK(!state.suspended());
}

TEST_CASE("the message about a silent root gives fractions of seconds") {
  Spec spec = spec_of(1);
  spec.node_timeout_ms = 800;
  AgentState state = running(1, spec);
  const Actions late = state.on(TimePassed{}, kT0 + 803ms);
  const AgentAction said = Send{Problem{"the launcher was silent for 0.8 s"}};
  CHECK(std::count(late.begin(), late.end(), said) == 1);
}

TEST_CASE("TERM reaches suspended ranks") {
  AgentState state = running();
  state.on(FrameCame{Suspend{}}, kT0);
  CHECK(state.on(FrameCame{Stop{1000}}, kT0) == Actions{SignalMains{SIGTERM}, Act::resume_ranks});
}

TEST_CASE("a lost link ends everything at once, shims last") {
  AgentState state = running();
  CHECK(state.on(LinkLost{"the guard was killed"}, kT0) ==
        Actions{Act::kill_ranks, Act::kill_strays});
  CHECK_MESSAGE(state.on(LinkLost{"a shim was killed"}, kT0).empty(), "the first one counts");
  CHECK(state.on(FrameCame{Kill{}}, kT0).empty());
  CHECK_MESSAGE(state.on(Exited{.rank = 0, .wait_status = SIGKILL}, kT0).empty(),
                "no failure of the rank");
  CHECK(state.on(TimePassed{}, kT0 + 1s) == Actions{Send{Heartbeat{}}, Act::kill_everything});
  CHECK(state.on(NodeEmpty{}, kT0 + 1s) ==
        Actions{Send{Problem{"the guard was killed"}}, Finish{1}});
}

TEST_CASE("a link that is lost before there are ranks") {
  AgentState state(kT0);
  CHECK(state.on(LinkLost{"x"}, kT0) == Actions{Send{Problem{"x"}}, Finish{1}});
}

TEST_CASE("frames that do not fit end the agent with a reason") {
  AgentState state(kT0);
  CHECK(finishes(state.on(FrameCame{Go{}}, kT0)));
  AgentState empty(kT0);
  CHECK(finishes(empty.on(FrameCame{Spec{}}, kT0)));
  AgentState twice = running();
  CHECK(twice.on(FrameCame{spec_of(1)}, kT0) == Actions{Act::kill_ranks, Act::kill_strays});
  CHECK(finishes(twice.on(NodeEmpty{}, kT0)));
}

TEST_CASE("the next wake-up is never later than what is due") {
  AgentState state = running();
  CHECK(state.wake_at() == kT0 + AgentState::kHeartbeat);
  state.on(FrameCame{Stop{200}}, kT0);
  CHECK(state.wake_at() == kT0 + 200ms);
}

TEST_CASE("a short node timeout still holds several heartbeats") {
  Spec spec = spec_of(1);
  spec.node_timeout_ms = 1000;
  AgentState state = running(1, spec);
  CHECK(state.wake_at() == kT0 + 250ms);
  CHECK(state.on(TimePassed{}, kT0 + 250ms) == Actions{Send{Heartbeat{}}});
  CHECK(state.wake_at() == kT0 + 500ms);
}

TEST_CASE(
    "with keep_agent the end of all ranks is no end of the agent: the next epoch starts afresh") {
  Spec spec = spec_of(1);
  spec.keep_agent = true;
  AgentState state = running(1, spec);
  state.on(FrameCame{Stop{5000}}, kT0);
  CHECK(state.on(NodeEmpty{}, kT0 + 1s) == Actions{Send{Cleared{}}, Act::forget_ranks});
  CHECK_MESSAGE(state.on(FrameCame{Kill{}, /*late=*/true}, kT0 + 1s).empty(),
                "it was for ranks that are gone");
  CHECK(state.on(FrameCame{Stop{1}, /*late=*/true}, kT0 + 1s).empty());
  CHECK(state.on(FrameCame{spec}, kT0 + 2s) == Actions{Act::hold_port});
  CHECK(state.on(PortHeld{4001}, kT0 + 2s) == Actions{Send{Ready{4001}}});
  CHECK(state.on(FrameCame{Go{}}, kT0 + 2s) == Actions{StartRanks{}});
  CHECK(state.on(FrameCame{Stop{3000}}, kT0 + 2s) == Actions{SignalMains{SIGTERM}});
  CHECK(state.on(NodeEmpty{}, kT0 + 3s) == Actions{Send{Cleared{}}, Act::forget_ranks});
  AgentState lost = state;
  CHECK(lost.on(RootLost{}, kT0 + 4s) == Actions{Send{Bye{}}, Finish{0}});
  CHECK(state.on(FrameCame{Kill{}}, kT0 + 4s) == Actions{Send{Bye{}}, Finish{0}});
}

TEST_CASE("with keep_agent Stop between Ready and Go drops the epoch, not the agent") {
  Spec spec = spec_of(1);
  spec.keep_agent = true;
  AgentState state(kT0);
  state.on(FrameCame{spec}, kT0);
  state.on(PortHeld{4001}, kT0);
  AgentState killed = state;
  CHECK(state.on(FrameCame{Stop{5000}}, kT0) == Actions{Send{Cleared{}}, Act::forget_ranks});
  CHECK(state.on(FrameCame{spec}, kT0) == Actions{Act::hold_port});
  CHECK_MESSAGE(finishes(killed.on(FrameCame{Kill{}}, kT0)), "the job ends");

  spec.mpi.wire = MpiWire::pmix;
  AgentState with_server(kT0);
  with_server.on(FrameCame{spec}, kT0);
  with_server.on(PortHeld{4001}, kT0);
  CHECK_MESSAGE(with_server.on(FrameCame{Stop{5000}}, kT0) == Actions{Act::clear_up},
                "its PMIx server ends first");
  CHECK(with_server.on(NodeEmpty{}, kT0) == Actions{Send{Cleared{}}, Act::forget_ranks});

  AgentState early(kT0);  // its server has not started yet
  early.on(FrameCame{spec}, kT0);
  CHECK(early.on(FrameCame{Stop{5000}}, kT0) == Actions{Act::clear_up});
  CHECK_MESSAGE(early.on(PortHeld{4001}, kT0).empty(), "it is too late to be ready");
  CHECK(early.on(NodeEmpty{}, kT0) == Actions{Send{Cleared{}}, Act::forget_ranks});
}

TEST_CASE("a root that is only stopped learns why, before it hears of the ranks' ends") {
  AgentState state = running();
  CHECK(state.on(RootLost{"the launcher was stopped"}, kT0) ==
        Actions{Send{Problem{"the launcher was stopped"}}, SignalMains{SIGTERM}});
}

TEST_CASE("beats are rarer until the ranks start") {
  AgentState state(kT0);
  CHECK(state.wake_at() == kT0 + 2s);
  state.on(FrameCame{spec_of(1)}, kT0);
  state.on(PortHeld{}, kT0);
  CHECK(state.wake_at() == kT0 + 2s);
  state.on(FrameCame{Go{}}, kT0);
  CHECK(state.wake_at() == kT0 + 1s);
}

TEST_CASE("between epochs a silent root is lost as during them") {
  Spec spec = spec_of(1);
  spec.keep_agent = true;
  AgentState state = running(1, spec);
  state.on(NodeEmpty{}, kT0);
  state.on(FrameCame{Heartbeat{}}, kT0 + 5s);
  CHECK_FALSE(finishes(state.on(TimePassed{}, kT0 + 12s)));
  CHECK(finishes(state.on(TimePassed{}, kT0 + 13s)));
}

TEST_CASE("an agent that has lost its root or a link does not wait for another epoch") {
  Spec spec = spec_of(1);
  spec.keep_agent = true;
  AgentState lost = running(1, spec);
  lost.on(RootLost{}, kT0);
  CHECK(finishes(lost.on(NodeEmpty{}, kT0)));
  AgentState broken = running(1, spec);
  broken.on(LinkLost{"a shim was killed"}, kT0);
  CHECK(finishes(broken.on(NodeEmpty{}, kT0)));
}

TEST_CASE("leftovers of a job are killed on demand, and told of whoever asked") {
  AgentState state(kT0);
  CHECK(state.on(FrameCame{Sweep{"4f", {12}}}, kT0) == Actions{KillLeftovers{"4f", {12}}});
  CHECK_MESSAGE(state.on(FrameCame{spec_of(1)}, kT0) == Actions{Act::hold_port},
                "it waits for a Spec still");
}

TEST_CASE("a check runs while there is no Spec") {
  Check check{.spec = spec_of(1), .runs = true};
  AgentState state(kT0);
  CHECK(state.on(FrameCame{check}, kT0) == Actions{RunCheck{check}});
  CHECK_MESSAGE(state.on(FrameCame{Check{}}, kT0).empty(), "it names no program");
  state.on(FrameCame{spec_of(1)}, kT0);
  CHECK(state.on(FrameCame{check}, kT0).empty());
}

TEST_CASE("a Probe is answered between Ready and Go, and means nothing at other times") {
  const Probe probe{.search = 1, .addresses = {"10.0.0.1"}, .port = 4000};
  AgentState state(kT0);
  CHECK(state.on(FrameCame{probe}, kT0).empty());
  state.on(FrameCame{spec_of(1)}, kT0);
  CHECK(state.on(FrameCame{probe}, kT0).empty());
  state.on(PortHeld{4000}, kT0);
  CHECK(state.on(FrameCame{probe}, kT0) == Actions{DialMaster{probe}});
  state.on(FrameCame{Go{}}, kT0);
  CHECK(state.on(FrameCame{probe}, kT0).empty());
}
