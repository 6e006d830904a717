// Events and a clock go in, actions come out: no process, no sleep.
#include "launcher/exec/fanout.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>

namespace {

using namespace ds::launcher;
using namespace ds::launcher::exec;
using namespace std::chrono_literals;
using Kind = NodeResult::Kind;

const ds::Clock::time_point kT0{1h};

struct ActionText {
  std::string operator()(const OpenAgent& a) const { return fmt::format("open {}", a.agent); }
  std::string operator()(const SendSpec& a) const { return fmt::format("send {}", a.agent); }
  std::string operator()(const StartCommand& a) const { return fmt::format("start {}", a.node); }
  std::string operator()(const StopAgent& a) const {
    return fmt::format("stop {} {}", a.agent, a.grace.count());
  }
  std::string operator()(const KillAgent& a) const { return fmt::format("kill {}", a.agent); }
  std::string operator()(const CloseAgent& a) const { return fmt::format("close {}", a.agent); }
  std::string operator()(const SendSweep&) const { return "sweep"; }
  std::string operator()(const DismissAgent&) const { return "dismiss"; }
  std::string operator()(const SendHeartbeats&) const { return "beat"; }
  std::string operator()(const SuspendAgents&) const { return "suspend"; }
  std::string operator()(const SuspendSelf&) const { return "stop self"; }
  std::string operator()(const ResumeAgents&) const { return "resume"; }
  std::string operator()(const ListNodes& a) const {
    return "list\n" + stages_text({"n0", "n1", "n2"}, a.stages);
  }
  std::string operator()(const Canceled& a) const { return fmt::format("canceled {}", a.nodes); }
  std::string operator()(const Leave&) const { return "leave"; }
};

/// A state machine whose actions come as text.
class Played {
 public:
  explicit Played(int nodes, ExecPolicy policy = {}) : state(names_of(nodes), policy) {}

  std::string on(const Event& event, std::chrono::milliseconds at = 0ms) {
    std::string text;
    for (const Action& action : state.on(event, kT0 + at)) {
      if (!text.empty()) text += ", ";
      text += std::visit(ActionText{}, action);
    }
    return text;
  }
  /// Each Tick comes when it is due, until a time; what they brought, but for beats.
  std::string pass(std::chrono::milliseconds until) {
    std::string text;
    for (auto at = state.wake_at(); at <= kT0 + until; at = state.wake_at())
      for (const Action& action : state.on(Tick{}, at))
        if (!std::holds_alternative<SendHeartbeats>(action))
          text += (text.empty() ? "" : ", ") + std::visit(ActionText{}, action);
    return text;
  }
  /// All opened nodes greet and run.
  void start(int nodes) {
    on(Start{});
    for (int i = 0; i < nodes; ++i) on(AgentGreeted{i}), on(AgentReady{i});
  }
  std::string ended(int node, int code, std::chrono::milliseconds at = 0ms) {
    const std::string first = on(CommandEnded{node, {ds::ExitStatus::exited(code), {}}}, at);
    const std::string then = on(AgentDone{node}, at);
    return first.empty() ? then : first + "; " + then;
  }

  Fanout state;

 private:
  static std::vector<std::string> names_of(int nodes) {
    std::vector<std::string> names;
    for (int i = 0; i < nodes; ++i) names.push_back(fmt::format("n{}", i));
    return names;
  }
};

}  // namespace

TEST_CASE("each node goes its way alone") {
  Played exec(2);
  CHECK(exec.on(Start{}) == "open 0, open 1");
  CHECK(exec.on(AgentGreeted{1}) == "send 1");
  CHECK(exec.on(AgentReady{1}) == "start 1");
  CHECK(exec.ended(1, 3) == "close 1");
  CHECK(exec.on(AgentGreeted{0}) == "send 0");
  CHECK(exec.on(AgentReady{0}) == "start 0");
  CHECK(exec.ended(0, 0) == "close 0, leave");
  CHECK(exec.state.finished());
  CHECK(exec.state.exit_code() == 0);
  CHECK(exec.on(AgentDone{0}).empty());
}

TEST_CASE("-S gives the largest code, unreachable nodes included") {
  Played exec(3, {.largest_code = true});
  exec.start(2);
  exec.ended(0, 3);
  exec.ended(1, 2);
  CHECK(exec.state.exit_code() == 3);
  CHECK(exec.on(AgentLost{2, "n2: refused"}) == "close 2, leave");
  CHECK(exec.state.results()[2].kind == Kind::unreachable);
  CHECK(exec.state.exit_code() == 69);
}

TEST_CASE("the fan-out is kept: a node is opened when another has ended or is lost") {
  Played exec(4, {.fanout = 2});
  CHECK(exec.on(Start{}) == "open 0, open 1");
  CHECK(exec.on(AgentLost{1, "n1: refused"}) == "close 1, open 2");
  exec.on(AgentGreeted{0});
  exec.on(AgentReady{0});
  CHECK(exec.ended(0, 0) == "close 0, open 3");
  CHECK(exec.on(AgentLost{3, "n3: refused"}) == "close 3");
  CHECK(exec.on(AgentLost{2, "n2: refused"}) == "close 2, leave");
}

TEST_CASE("a command whose time is up gets TERM, then KILL; other nodes go on") {
  Played exec(2, {.command_timeout = 20s, .grace = 5s, .node_timeout = 0ms, .largest_code = true});
  exec.start(2);
  CHECK(exec.state.wake_at() == kT0 + 1s);
  CHECK(exec.ended(1, 0, 19s) == "close 1");
  CHECK(exec.pass(20s) == "stop 0 5000");
  CHECK(exec.pass(26999ms).empty());
  CHECK(exec.pass(27s) == "kill 0");
  CHECK(exec.on(CommandEnded{0, {ds::ExitStatus::signaled(SIGKILL, false), {}}}, 28s).empty());
  CHECK(exec.on(AgentDone{0}, 28s) == "close 0, leave");
  CHECK(exec.state.results()[0].kind == Kind::timed_out);
  CHECK(exec.state.exit_code() == 124);
}

TEST_CASE("a node that does not even die is given up and named") {
  Played exec(1, {.command_timeout = 1s, .grace = 1s, .node_timeout = 0ms});
  exec.start(1);
  CHECK(exec.pass(1s) == "stop 0 1000");
  CHECK(exec.pass(4s) == "kill 0");
  CHECK(exec.pass(9s) == "close 0, leave");
  CHECK(exec.state.results()[0].kind == Kind::lost);
}

TEST_CASE("a silent node is lost; what it said last counts") {
  Played exec(2, {.node_timeout = 10s});
  exec.start(2);
  exec.on(AgentHeard{0}, 5s);
  for (auto at = 1s; at < 10s; at += 1s) CHECK(exec.on(Tick{}, at) == "beat");
  CHECK(exec.on(Tick{}, 10s) == "beat, close 1");
  CHECK(exec.state.results()[1].reason == "n1: nothing heard for 10 s");
  for (auto at = 11s; at < 15s; at += 1s) exec.on(Tick{}, at);
  CHECK(exec.on(Tick{}, 15s) == "beat, close 0, leave");
}

TEST_CASE("a process that stood still itself blames no node") {
  Played exec(1, {.node_timeout = 10s});
  exec.start(1);
  CHECK(exec.on(Tick{}, 60s) == "beat");
}

TEST_CASE("nodes that get nowhere are given up; those opened in their stead have their time") {
  Played exec(3, {.fanout = 2, .start_timeout = 5s});
  exec.on(Start{});
  for (auto at = 1s; at < 5s; at += 1s) exec.on(Tick{}, at);
  CHECK(exec.on(Tick{}, 5s) == "close 0, close 1, open 2");
  CHECK(exec.state.results()[2].kind == Kind::none);
}

TEST_CASE("-k: the first failure stops all, and gives the code") {
  Played exec(4, {.fanout = 3, .grace = 5s, .stop_at_failure = true});
  exec.on(Start{});
  exec.on(AgentGreeted{0});
  exec.on(AgentReady{0});
  exec.on(AgentGreeted{1});
  CHECK(exec.on(AgentReady{1}) == "start 1");
  CHECK(exec.on(CommandEnded{1, {ds::ExitStatus::exited(9), {}}}) == "stop 0 5000, close 2");
  CHECK(exec.on(AgentDone{1}) == "close 1");
  CHECK(exec.on(CommandEnded{0, {ds::ExitStatus::signaled(SIGTERM, false), {}}}).empty());
  CHECK(exec.on(AgentDone{0}) == "close 0, leave");
  CHECK(exec.state.exit_code() == 9);
  CHECK(exec.state.results()[0].kind == Kind::stopped);
  CHECK(exec.state.results()[2].kind == Kind::not_started);
  CHECK(exec.state.results()[3].kind == Kind::not_started);
}

TEST_CASE("-k: a node that cannot be reached is a failure") {
  Played exec(2, {.stop_at_failure = true});
  exec.on(Start{});
  CHECK(exec.on(AgentLost{0, "n0: refused"}) == "close 0, close 1, leave");
  CHECK(exec.state.exit_code() == 69);
}

TEST_CASE("on a terminal the first interrupt lists who runs, a second one soon after stops them") {
  Played exec(3, {.fanout = 2, .interrupt_asks = true});
  exec.on(Start{});
  exec.on(AgentGreeted{0});
  exec.on(AgentReady{0});
  const std::string list =
      "list\n"
      "  n0: running\n  n1: connecting\n  n2: not started yet";
  CHECK(exec.on(SignalReceived{SIGINT}, 10s) == list);
  CHECK(exec.on(SignalReceived{SIGINT}, 11500ms) == list);
  CHECK(exec.on(SignalReceived{SIGINT}, 12500ms) == "stop 0 5000, close 1");
  CHECK(exec.on(SignalReceived{SIGINT}, 12900ms) == "kill 0");
  CHECK(exec.on(SignalReceived{SIGINT}, 13300ms) == "close 0, leave");
  CHECK(exec.state.exit_code() == 130);
  CHECK(exec.state.results()[0].kind == Kind::lost);
  CHECK(exec.state.results()[1].kind == Kind::not_started);
  CHECK(exec.state.results()[2].kind == Kind::not_started);
}

TEST_CASE("as pdsh, TSTP after the first interrupt gives up the nodes that do not run yet") {
  Played exec(3, {.fanout = 2, .interrupt_asks = true, .cancels = true, .stopped_code = 1});
  exec.on(Start{});
  exec.on(AgentGreeted{0});
  exec.on(AgentReady{0});
  CHECK(exec.on(SignalReceived{SIGTSTP}, 9s).starts_with("suspend"));
  exec.on(Continued{}, 9s);
  exec.on(SignalReceived{SIGINT}, 10s);
  CHECK(exec.on(SignalReceived{SIGTSTP}, 10500ms) == "close 1, canceled 2");
  CHECK(exec.state.results()[1].kind == Kind::not_started);
  CHECK(exec.state.results()[2].kind == Kind::not_started);
  CHECK(exec.ended(0, 0) == "close 0, leave");
  CHECK(exec.state.exit_code() == 0);
}

TEST_CASE("as pdsh, interrupts after TSTP leave a node behind that does not stop") {
  Played exec(3, {.fanout = 1, .interrupt_asks = true, .cancels = true, .stopped_code = 1});
  exec.on(Start{});
  exec.on(AgentGreeted{0});
  exec.on(AgentReady{0});
  exec.on(SignalReceived{SIGINT}, 10s);
  CHECK(exec.on(SignalReceived{SIGTSTP}, 10500ms) == "canceled 2");
  for (auto at = 10600ms; at < 20s; at += 500ms) exec.on(SignalReceived{SIGINT}, at);
  CHECK(exec.state.results()[0].kind == Kind::lost);
  CHECK(exec.state.results()[2].kind == Kind::not_started);
}

TEST_CASE("as pdsh, an interrupt or the first failure gives its own exit code") {
  const ExecPolicy policy{
      .stop_at_failure = true, .stopped_code = 1, .code_of = [](const NodeResult& result) {
        return result.end.status == ds::ExitStatus::exited(4) ? 0 : 7;
      }};
  Played exec(2, policy);
  exec.start(2);
  CHECK(exec.on(CommandEnded{0, {.status = ds::ExitStatus::exited(4)}}).empty());
  CHECK(exec.on(CommandEnded{1, {.status = ds::ExitStatus::exited(5)}}).empty());
  CHECK(exec.state.first_failure() == 1);
  CHECK(exec.state.exit_code() == 1);
  Played other(1, policy);
  other.start(1);
  other.on(SignalReceived{SIGTERM});
  CHECK(other.state.exit_code() == 143);
}

TEST_CASE("without a terminal one signal stops all") {
  Played exec(1);
  exec.start(1);
  CHECK(exec.on(SignalReceived{SIGTERM}) == "stop 0 5000");
  CHECK(exec.ended(0, 0) == "close 0, leave");
  CHECK(exec.state.exit_code() == 143);
}

TEST_CASE("when nobody reads any more all is stopped") {
  Played exec(1);
  exec.start(1);
  CHECK(exec.on(OutputClosed{}) == "stop 0 5000");
  CHECK(exec.on(OutputClosed{}).empty());
  exec.ended(0, 0);
  CHECK(exec.state.exit_code() == 141);
}

TEST_CASE("while it is suspended no time passes") {
  Played exec(1, {.command_timeout = 20s});
  exec.start(1);
  CHECK(exec.on(SignalReceived{SIGTSTP}, 5s) == "suspend, stop self");
  CHECK(exec.state.wake_at() == ds::Clock::time_point::max());
  CHECK(exec.on(Continued{}, 3600s) == "resume");
  CHECK(exec.on(Tick{}, 3601s) == "beat");
  for (auto at = 3602s; at < 3615s; at += 1s) exec.on(AgentHeard{0}, at), exec.on(Tick{}, at);
  CHECK(exec.on(Tick{}, 3615s) == "beat, stop 0 5000");
}

TEST_CASE("a node lost after its command's end: its output is not complete") {
  Played exec(2);
  exec.start(2);
  exec.on(CommandEnded{0, {ds::ExitStatus::exited(0), {}}});
  exec.on(AgentLost{0, "n0: connection reset"});
  CHECK(exec.state.results()[0].kind == Kind::lost);
  exec.on(CommandEnded{1, {ds::ExitStatus::exited(4), {}}});
  exec.on(AgentLost{1, "n1: connection reset"});
  CHECK(exec.state.results()[1].kind == Kind::exited);
}

TEST_CASE("a node whose last output waits for the reader is not given up") {
  Played exec(1, {.command_timeout = 2s, .grace = 1s, .node_timeout = 0ms});
  exec.start(1);
  exec.on(Tick{}, 1s);
  CHECK(exec.on(Tick{}, 2s) == "beat, stop 0 1000");
  exec.on(Tick{}, 4s);
  CHECK(exec.on(Tick{}, 5s) == "beat, kill 0");
  auto at = 6s;
  for (; at < 100s; at += 1s) {
    exec.on(OutputHeld{}, at);
    CHECK(exec.on(Tick{}, at) == "beat");
  }
  for (int i = 0; i < 4; ++i, at += 1s) exec.on(Tick{}, at);
  CHECK(exec.on(Tick{}, at) == "beat, close 0, leave");
}

TEST_CASE("a silent node is lost, also while output waits for the reader") {
  Played exec(1, {.node_timeout = 10s});
  exec.start(1);
  for (auto at = 1s; at < 10s; at += 1s) {
    exec.on(OutputHeld{}, at);
    CHECK(exec.on(Tick{}, at) == "beat");
  }
  exec.on(OutputHeld{}, 10s);
  CHECK(exec.on(Tick{}, 10s) == "beat, close 0, leave");
}

TEST_CASE("no nodes, nothing to do") {
  Played exec(0);
  CHECK(exec.on(Start{}) == "leave");
  CHECK(exec.state.exit_code() == 0);
}

TEST_CASE("what its clients see: the phase, who is left, who can be sent a signal") {
  Played exec(2, {.fanout = 1});
  CHECK(exec.state.phase_name() == "starting");
  exec.start(1);
  CHECK(exec.state.phase_name() == "running");
  CHECK(exec.state.is_running(0));
  CHECK_FALSE(exec.state.is_running(1));
  CHECK(exec.state.nodes_left() == 2);
  exec.ended(0, 0);
  CHECK(exec.state.nodes_left() == 1);
  CHECK(exec.state.phase_name() == "running");
  exec.on(AgentGreeted{1}), exec.on(AgentReady{1});
  exec.on(SignalReceived{SIGTERM});
  CHECK(exec.state.phase_name() == "stopping");
}

TEST_CASE("an interrupt that is asked for stops at once, with the grace that is asked for") {
  Played exec(1, {.grace = 5s, .interrupt_asks = true});
  exec.start(1);
  exec.state.set_grace(1s);
  CHECK(exec.on(SignalReceived{SIGINT, true}) == "stop 0 1000");
}

TEST_CASE("a command that has ended while its agent never says so is killed, then given up") {
  Played exec(1, {.grace = 5s, .node_timeout = 0ms});
  exec.start(1);
  exec.on(CommandEnded{0, {ds::ExitStatus::exited(0), {}}});
  CHECK(exec.pass(7s) == "kill 0");
  CHECK(exec.pass(12s) == "close 0, leave");
}

TEST_CASE("two TERMs within 2 s, or one key that is delivered twice, are one request") {
  Played exec(1, {.node_timeout = 0ms, .interrupt_asks = true});
  exec.start(1);
  CHECK(exec.on(SignalReceived{SIGINT}).starts_with("list"));
  CHECK(exec.on(SignalReceived{SIGINT}, 100ms).empty());
  CHECK(exec.on(SignalReceived{SIGTERM}, 200ms) == "stop 0 5000");
  CHECK(exec.on(SignalReceived{SIGTERM}, 201ms).empty());
  CHECK(exec.on(SignalReceived{SIGTERM}, 2200ms) == "kill 0");
}

TEST_CASE("standard input that fails stops all nodes with code 1") {
  Played exec(2);
  exec.start(2);
  CHECK(exec.on(InputFailed{}) == "stop 0 5000, stop 1 5000");
  exec.ended(0, 143);
  CHECK(exec.ended(1, 143) == "close 1, leave");
  CHECK(exec.state.exit_code() == 1);
}

TEST_CASE("a signal after the end drops unread output and gives its code") {
  Played exec(1);
  exec.start(1);
  exec.ended(0, 0);
  CHECK(exec.state.phase_name() == "finished");
  CHECK(exec.on(SignalReceived{SIGTERM}).empty());
  CHECK(exec.state.exit_code() == 143);
}
