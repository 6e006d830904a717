// MASTER_ADDR as a job finds it, against agents that are played: no process, no network.
#include <doctest/doctest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/job/job.h"
#include "unit/job/fake_transport.h"
#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;

struct Played {
  int code = -1;
  std::string err;
  std::vector<std::string> heard;  // "n1 probe 10.1.0.1", "n0 go 10.1.0.1:4711"
  std::map<std::string, Spec> specs;
};

std::string value_of(const EnvList& env, const std::string& name) {
  for (const auto& [key, value] : env)
    if (key == name) return value;
  return {};
}

/// Nodes n0, n1, ... on other machines; what each sees, and what it says to a Probe.
struct Scene {
  std::vector<Hello> hellos;
  std::vector<Probed::Result> results;
  MasterRequest master{};
};

class Stage {
 public:
  explicit Stage(Scene scene) : scene_(std::move(scene)) {}

  Played play() {
    asio::io_context io(1);
    FakeTransport transport(
        io, [this](const Host& host, FakeAgent& agent) { enter(host, agent); },
        [this](FakeAgent& agent, const Message& message) { answer(agent, message); });
    int err[2];
    REQUIRE(::pipe(err) == 0);
    ds::UniqueFd err_read(err[0]), err_write(err[1]);
    JobRequest request;
    const int nodes = static_cast<int>(scene_.hellos.size());
    request.placement = placement_of(nodes, 1);
    request.programs = {{.argv = {"true"}}};
    request.routes.assign(static_cast<std::size_t>(nodes), NodeRoute{&transport, false});
    request.master = scene_.master;
    request.err_fd = err_write.get();
    played_.code = run_job(io, std::move(request));
    err_write.reset();
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(err_read.get(), buffer, sizeof buffer)) > 0;)
      played_.err.append(buffer, static_cast<std::size_t>(count));
    return played_;
  }

 private:
  void enter(const Host& host, FakeAgent& agent) {
    names_[&agent] = host.name;
    agent.say_raw(kPreamble);
    agent.say(scene_.hellos[static_cast<std::size_t>(std::stoi(host.name.substr(1)))]);
  }

  void answer(FakeAgent& agent, const Message& message) {
    const std::string& name = names_[&agent];
    if (const auto* spec = std::get_if<Spec>(&message)) {
      played_.specs[name] = *spec;
      agent.say(Ready{static_cast<std::uint16_t>(spec->hold_port ? 4711 : 0)});
    } else if (const auto* probe = std::get_if<Probe>(&message)) {
      std::string text = name + " probe";
      for (const std::string& address : probe->addresses) text += " " + address;
      played_.heard.push_back(text);
      const bool shut = probe->addresses.empty();
      agent.say(Probed{probe->search, shut ? std::vector<Probed::Result>{} : scene_.results});
    } else if (const auto* go = std::get_if<Go>(&message)) {
      played_.heard.push_back(name + " go " + value_of(go->env, "MASTER_ADDR") + ":" +
                              value_of(go->env, "MASTER_PORT"));
      agent.say(Exited{.rank = std::stoi(name.substr(1))});
      agent.say(Bye{});
    } else if (std::holds_alternative<Kill>(message)) {
      agent.say(Bye{});
    }
  }

  Scene scene_;
  Played played_;
  std::map<FakeAgent*, std::string> names_;
};

Hello seeing(std::string network, std::vector<NodeAddress> addresses) {
  Hello hello;
  hello.network = std::move(network);
  hello.addresses = std::move(addresses);
  return hello;
}

std::vector<Hello> two_machines() {
  return {seeing("a", {{"10.1.0.1", "eth0", 16}, {"10.2.0.1", "eth1", 16}}),
          seeing("b", {{"10.1.0.2", "eth0", 16}}), seeing("b", {{"10.1.0.2", "eth0", 16}})};
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("one node of another machine tries; node 0 shuts its door; then all get the address") {
  const Played played =
      Stage({.hellos = two_machines(), .results = {{0, "No route to host"}, {1, ""}}}).play();
  CHECK(played.code == 0);
  CHECK(played.heard == Lines{"n1 probe 10.1.0.1 10.2.0.1", "n0 probe", "n0 go 10.2.0.1:4711",
                              "n1 go 10.2.0.1:4711", "n2 go 10.2.0.1:4711"});
  CHECK(played.specs.at("n0").door_question.size() == 16);
  CHECK(played.specs.at("n0").door_answer.size() == 16);
  CHECK(played.specs.at("n0").door_answer != played.specs.at("n0").door_question);
  CHECK(played.specs.at("n1").door_question.empty());
}

TEST_CASE("who still tries another address is told to end that before ranks start") {
  const Played played = Stage({.hellos = two_machines(), .results = {{0, ""}}}).play();
  CHECK(played.code == 0);
  CHECK(played.heard == Lines{"n1 probe 10.1.0.1 10.2.0.1", "n0 probe", "n1 probe",
                              "n0 go 10.1.0.1:4711", "n1 go 10.1.0.1:4711", "n2 go 10.1.0.1:4711"});
}

TEST_CASE("nodes that share all interfaces try nothing") {
  std::vector<Hello> hellos(3, seeing("a", {{"127.0.0.2", "lo", 8}}));
  const Played played = Stage({.hellos = hellos, .results = {}}).play();
  CHECK(played.code == 0);
  CHECK(played.heard ==
        Lines{"n0 probe", "n0 go 127.0.0.2:4711", "n1 go 127.0.0.2:4711", "n2 go 127.0.0.2:4711"});
}

TEST_CASE("an address that nobody reaches ends the job with a table before any rank runs") {
  const Played played =
      Stage({.hellos = two_machines(), .results = {{0, "No route to host"}, {1, "refused"}}})
          .play();
  CHECK(played.code == 69);
  CHECK(played.heard == Lines{"n1 probe 10.1.0.1 10.2.0.1"});
  CHECK(
      played.err.starts_with("dslaunch: no address of n0 is reached by all other nodes:\n"
                             "  n1: 10.1.0.1 (eth0): No route to host; 10.2.0.1 (eth1): refused"));
}

TEST_CASE("what is given is taken as it is") {
  const Played played =
      Stage(
          {.hellos = two_machines(), .results = {}, .master = {.address = "store", .port = 29500}})
          .play();
  CHECK(played.code == 0);
  CHECK(played.heard == Lines{"n0 go store:29500", "n1 go store:29500", "n2 go store:29500"});
  CHECK_FALSE(played.specs.at("n0").hold_port);
  CHECK(played.specs.at("n0").door_question.empty());
}

TEST_CASE("a named interface goes to the frameworks of every node, and must be there") {
  const auto with = [](const char* iface) {
    Scene scene{.hellos = two_machines(), .results = {{0, ""}}};
    scene.master.iface = InterfaceChoice::parse(iface);
    return Stage(std::move(scene)).play();
  };
  const Played played = with("10.1.0.0/16");
  CHECK(played.code == 0);
  CHECK(played.heard.front() == "n1 probe 10.1.0.1");
  CHECK(value_of(played.specs.at("n2").env, "GLOO_SOCKET_IFNAME") == "eth0");
  CHECK(value_of(played.specs.at("n2").env, "NCCL_SOCKET_IFNAME") == "=eth0");
  const Played missing = with("eth1");
  CHECK(missing.code == 69);
  CHECK(missing.heard.empty());
  CHECK(missing.err.find("no interface named eth1 (it has eth0)") != std::string::npos);
}
