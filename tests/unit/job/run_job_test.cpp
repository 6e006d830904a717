// The loop around JobState, against agents that are played: no process, no network.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "engine/base/unique_fd.h"
#include "launcher/job/job.h"
#include "launcher/job/mpir_symbols.h"
#include "unit/job/fake_transport.h"
#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;

struct Seen {
  int code = -1;
  std::string out, err;
};

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

void greet(FakeAgent& agent) {
  agent.say_raw("Last login: yesterday\n");
  agent.say_raw(kPreamble);
  agent.say(Hello{});
}

/// A job of one rank on each of `nodes` hosts.
Seen run_with(int nodes, std::function<void(const Host&, FakeAgent&)> on_open,
              FakeAgent::Script script) {
  asio::io_context io(1);
  FakeTransport transport(io, std::move(on_open), std::move(script));
  int out[2], err[2];
  REQUIRE(::pipe(out) == 0);
  REQUIRE(::pipe(err) == 0);
  ds::UniqueFd out_read(out[0]), err_read(err[0]), out_write(out[1]), err_write(err[1]);
  JobRequest request;
  request.placement = placement_of(nodes, 1);
  request.programs = {{.argv = {"true"}}};
  request.routes.assign(static_cast<std::size_t>(nodes), NodeRoute{&transport, true});
  request.out_fd = out_write.get();
  request.err_fd = err_write.get();
  Seen seen;
  seen.code = run_job(io, std::move(request));
  out_write.reset();
  err_write.reset();
  seen.out = read_all(out_read.get());
  seen.err = read_all(err_read.get());
  return seen;
}

void output(FakeAgent& agent, int rank, std::string_view text) {
  agent.say(Output{.rank = rank, .stream = 1, .flags = 0, .bytes = std::as_bytes(std::span(text))});
}

/// Gets ready, runs, prints its MASTER_PORT, and ends with `code`.
FakeAgent::Script agent_with(int code) {
  auto rank = std::make_shared<std::vector<std::pair<FakeAgent*, int>>>();
  return [rank, code](FakeAgent& agent, const Message& message) {
    if (const auto* spec = std::get_if<Spec>(&message)) {
      rank->emplace_back(&agent, spec->ranks.front().rank);
      agent.say(Ready{static_cast<std::uint16_t>(spec->hold_port ? 4711 : 0)});
    }
    int own = 0;
    for (const auto& [known, number] : *rank)
      if (known == &agent) own = number;
    if (const auto* go = std::get_if<Go>(&message)) {
      for (const auto& [name, value] : go->env)
        if (name == "MASTER_PORT") output(agent, own, "port " + value + "\n");
      agent.say(Exited{.rank = own, .wait_status = code << 8});
      agent.say(Bye{});
    }
  };
}

}  // namespace

TEST_CASE("a job from greeting to goodbye; noise before the preamble is skipped") {
  const Seen seen = run_with(
      1, [](const Host&, FakeAgent& agent) { greet(agent); }, agent_with(0));
  CHECK(seen.code == 0);
  CHECK(seen.out == "port 4711\n");
  CHECK(seen.err.empty());
}

TEST_CASE("all nodes get the port of the first") {
  const Seen seen = run_with(
      2, [](const Host&, FakeAgent& agent) { greet(agent); }, agent_with(0));
  CHECK(seen.code == 0);
  CHECK((seen.out == "[0] port 4711\n[1] port 4711\n" ||
         seen.out == "[1] port 4711\n[0] port 4711\n"));
}

TEST_CASE("an agent of another version is named with a hint") {
  const Seen seen = run_with(
      1,
      [](const Host&, FakeAgent& agent) {
        agent.say_raw(kPreamble);
        agent.say(Hello{.version = kWireVersion + 1});
      },
      agent_with(0));
  CHECK(seen.code == 69);
  CHECK(seen.err.find("n0: incompatible dslaunch") != std::string::npos);
}

TEST_CASE("every host that cannot be reached is in the message, and no rank runs") {
  const Seen seen = run_with(
      3,
      [](const Host& host, FakeAgent& agent) {
        if (host.name == "n1") return greet(agent);
        agent.end(
            {ChannelEnd::Kind::unreachable, host.name + ": connection refused", "connection"});
      },
      [](FakeAgent& agent, const Message& message) {
        if (std::holds_alternative<Spec>(message)) agent.say(Ready{});
        if (std::holds_alternative<Kill>(message)) agent.say(Bye{});
        CHECK_FALSE(std::holds_alternative<Go>(message));
      });
  CHECK(seen.code == 69);
  CHECK(seen.err ==
        "dslaunch: 2 of 3 nodes cannot be used:\n  HOSTS       STAGE       REASON\n"
        "  n[0,2] (2)  connection  connection refused\n");
}

TEST_CASE("an agent that is no agent ends with its own last words") {
  const Seen seen = run_with(
      1,
      [](const Host&, FakeAgent& agent) {
        agent.say_raw("motd\nsh: dslaunch: not found\n");
        agent.end({ChannelEnd::Kind::no_agent, "n0: cannot start an agent"});
      },
      agent_with(0));
  CHECK(seen.code == 69);
  CHECK(seen.err == "dslaunch: n0: cannot start an agent (it said: sh: dslaunch: not found)\n");
}

TEST_CASE("output before the greeting is not quoted as the last words of an agent that talked") {
  const Seen seen = run_with(
      1, [](const Host&, FakeAgent& agent) { greet(agent); },
      [](FakeAgent& agent, const Message& message) {
        if (std::holds_alternative<Spec>(message))
          agent.end({ChannelEnd::Kind::no_agent, "n0: the connection broke"});
      });
  CHECK(seen.code == 69);
  CHECK(seen.err == "dslaunch: n0: the connection broke\n");
}

TEST_CASE("a host whose output never ends is not called an incompatible dslaunch") {
  const Seen seen = run_with(
      1, [](const Host&, FakeAgent& agent) { agent.say_raw(std::string((1 << 20) + 4096, 'y')); },
      agent_with(0));
  CHECK(seen.code == 69);
  CHECK(seen.err.find("n0: no dslaunch agent answers there: more than 1 MiB of") !=
        std::string::npos);
  CHECK(seen.err.find("incompatible") == std::string::npos);
}

TEST_CASE("frames of another job, epoch or agent are dropped, and so are ranks of other nodes") {
  const Seen seen = run_with(
      2, [](const Host&, FakeAgent& agent) { greet(agent); },
      [](FakeAgent& agent, const Message& message) {
        const auto* spec = std::get_if<Spec>(&message);
        if (spec != nullptr) agent.say(Ready{});
        if (spec != nullptr && spec->node_rank == 1) {
          const Envelope own = agent.envelope;
          agent.envelope.epoch += 1;
          agent.say(Exited{.rank = 1, .wait_status = 9 << 8});
          agent.envelope = own;
          agent.say(Exited{.rank = 0, .wait_status = 8 << 8});
          agent.say(Exited{.rank = 77, .wait_status = 8 << 8});
        }
        if (std::holds_alternative<Go>(message)) {
          for (const int rank : {0, 1}) agent.say(Exited{.rank = rank, .wait_status = 0});
          agent.say(Bye{});
        }
      });
  CHECK(seen.code == 0);
  CHECK(seen.err.empty());
}

TEST_CASE("nonsense in the middle of a job loses the node") {
  const Seen seen = run_with(
      1, [](const Host&, FakeAgent& agent) { greet(agent); },
      [](FakeAgent& agent, const Message& message) {
        if (std::holds_alternative<Spec>(message)) agent.say(Ready{});
        if (std::holds_alternative<Go>(message)) agent.say_raw(std::string(64, '\xff'));
        if (std::holds_alternative<Sweep>(message)) agent.say(Swept{});
      });
  CHECK(seen.code == 69);
  CAPTURE(seen.err);
  CHECK(seen.err.find("dslaunch: n0 was reached again: no leftover processes found\n"
                      "dslaunch: node n0 is lost: incompatible dslaunch there") == 0);
}

TEST_CASE("control bytes of an agent's reason do not reach the terminal") {
  const Seen seen = run_with(
      1,
      [](const Host&, FakeAgent& agent) {
        greet(agent);
        agent.say(Problem{"bad \x1b[2J thing"});
      },
      agent_with(0));
  CHECK(seen.code == 69);
  CHECK(seen.err == "dslaunch: n0: bad ?[2J thing (stage: agent start)\n");
}

TEST_CASE("ranks are held for a debugger that has started this process, and then go on") {
  MPIR_being_debugged = 1;
  std::vector<std::string> heard;
  const Seen seen = run_with(
      1, [](const Host&, FakeAgent& agent) { greet(agent); },
      [&](FakeAgent& agent, const Message& message) {
        if (const auto* spec = std::get_if<Spec>(&message)) {
          CHECK_MESSAGE(spec->node_timeout_ms == 0, "the debugger may stop this process for hours");
          agent.say(Ready{});
        }
        if (const auto* go = std::get_if<Go>(&message)) {
          heard.emplace_back(go->suspended ? "go, suspended" : "go");
          agent.say(Started{.rank = 0, .pid = 4711});
        }
        if (std::holds_alternative<Suspend>(message)) {
          heard.emplace_back("suspend");
          REQUIRE(MPIR_proctable_size == 1);
          CHECK(MPIR_proctable[0].pid == 4711);
          CHECK(std::string(MPIR_proctable[0].host_name) == "n0");
          CHECK(std::string(MPIR_proctable[0].executable_name) == "true");
        }
        if (!std::holds_alternative<Resume>(message)) return;
        heard.emplace_back("resume");
        agent.say(Exited{.rank = 0, .wait_status = 3 << 8});
        agent.say(Bye{});
      });
  MPIR_being_debugged = 0;
  CHECK(seen.code == 3);
  CHECK(heard == std::vector<std::string>{"go, suspended", "suspend", "resume"});
  CHECK_MESSAGE(MPIR_proctable == nullptr, "the job is over");
}
