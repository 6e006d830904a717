// Candidates in their order, and the choice from what the others have reached.
#include "launcher/job/master_search.h"

#include <doctest/doctest.h>

#include "unit/job/job_helpers.h"

namespace {

using namespace ds::launcher;
using State = MasterSearch::State;

NodeView node_with(std::string host, std::string network, std::vector<NodeAddress> addresses) {
  return {std::move(host), std::move(network), std::move(addresses)};
}

std::string texts(const std::vector<NodeAddress>& places) {
  std::string text;
  for (const NodeAddress& place : places) text += (text.empty() ? "" : " ") + place.address;
  return text;
}

const std::vector<NodeAddress> kOwn = {{"127.0.0.1", "lo", 8},      {"::1", "lo", 128},
                                       {"169.254.3.1", "eth3", 16}, {"172.17.0.1", "docker0", 16},
                                       {"fd00::1", "eth1", 64},     {"10.2.0.1", "eth1", 16},
                                       {"10.1.0.1", "eth0", 16},    {"fe80::1", "eth0", 64}};

std::vector<NodeView> three_nodes() {
  return {node_with("n0", "a", kOwn),
          node_with("n1", "b", {{"127.0.0.1", "lo", 8}, {"10.2.0.2", "eth1", 16}}),
          node_with("n2", "c", {{"10.2.0.3", "eth1", 16}, {"10.1.0.3", "eth0", 16}})};
}

MasterSearch search_of(int candidates, std::vector<std::string> probers) {
  std::vector<NodeAddress> places;
  for (int i = 0; i < candidates; ++i)
    places.push_back({fmt::format("10.{}.0.1", i + 1), fmt::format("eth{}", i), 16});
  return {places, std::move(probers), kT0};
}

Probed::Result reached(int index) { return {static_cast<std::uint16_t>(index), ""}; }
Probed::Result failed(int index, std::string why = "refused") {
  return {static_cast<std::uint16_t>(index), std::move(why)};
}

}  // namespace

TEST_CASE("candidates: the reached one, then those near most nodes; link-local last, no loopback") {
  CHECK(texts(master_candidates(three_nodes(), "", std::nullopt)) ==
        "10.2.0.1 10.1.0.1 172.17.0.1 fd00::1 169.254.3.1");
  CHECK(texts(master_candidates(three_nodes(), "172.17.0.1", std::nullopt)) ==
        "172.17.0.1 10.2.0.1 10.1.0.1 fd00::1 169.254.3.1");
}

TEST_CASE("an address that no interface has, as behind a translation, is a candidate") {
  std::vector<NodeView> nodes = three_nodes();
  nodes[0].addresses = {{"203.0.113.7", "", 0}, {"192.168.0.2", "eth0", 24}};
  CHECK(texts(master_candidates(nodes, "203.0.113.7", std::nullopt)) == "203.0.113.7 192.168.0.2");
}

TEST_CASE("loopback is a candidate only if all nodes share the network of the first") {
  std::vector<NodeView> nodes = three_nodes();
  CHECK_FALSE(share_network(nodes));
  for (NodeView& node : nodes) node.network = "a";
  CHECK(share_network(nodes));
  CHECK(texts(master_candidates(nodes, "127.0.0.1", std::nullopt)).ends_with(" 127.0.0.1 ::1"));
}

TEST_CASE("--iface with an interface or a network leaves its addresses alone") {
  const auto with = [](const char* iface) {
    return texts(master_candidates(three_nodes(), "10.1.0.1", InterfaceChoice::parse(iface)));
  };
  CHECK(with("eth1") == "10.2.0.1 fd00::1");
  CHECK(with("10.0.0.0/8") == "10.1.0.1 10.2.0.1");
  CHECK(with("fd00::/16") == "fd00::1");
  CHECK(with("eth9").empty());
  CHECK(with("lo").empty());
  CHECK(with("eth") == "");
}

TEST_CASE("the interface of --iface is the node's own, or its lack is named") {
  const InterfaceChoice net = *InterfaceChoice::parse("10.2.0.0/16");
  CHECK(interface_of(net, kOwn) == "eth1");
  CHECK(interface_of(*InterfaceChoice::parse("eth0"), kOwn) == "eth0");
  CHECK(interface_of(*InterfaceChoice::parse("fe80::/10"), kOwn).empty());
  CHECK(interface_problem("n0", net, kOwn).empty());
  const std::vector<NodeAddress> two = {{"127.0.0.1", "lo", 8}, {"10.1.0.3", "eth0", 16}};
  CHECK(interface_problem("n1", *InterfaceChoice::parse("ib0"), two) ==
        "n1: no interface named ib0 (it has lo, eth0)");
  CHECK(interface_problem("n1", net, two) ==
        "n1: no interface with an address in 10.2.0.0/16 (it has 127.0.0.1 (lo), 10.1.0.3 "
        "(eth0))");
}

TEST_CASE("one node of each network tries; an unknown network is like no other") {
  std::vector<NodeView> nodes(6);
  const char* const networks[] = {"a", "a", "b", "", "b", ""};
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].network = networks[i];
  CHECK(probing_nodes(nodes) == std::vector<int>{2, 3, 5});
}

TEST_CASE("the best address wins as soon as all have reached it") {
  MasterSearch search = search_of(2, {"n1", "n2"});
  CHECK(search.look(kT0) == State::searching);
  search.take(0, reached(0), kT0);
  CHECK(search.look(kT0) == State::searching);
  search.take(1, reached(0), kT0);
  CHECK(search.look(kT0) == State::found);
  CHECK(search.address() == "10.1.0.1");
}

TEST_CASE("a worse address waits for better ones, but not for those that have failed") {
  MasterSearch slow = search_of(2, {"n1", "n2"});
  slow.take(0, reached(1), kT0);
  slow.take(1, reached(1), kT0 + 10ms);
  CHECK(slow.look(kT0 + 10ms) == State::searching);
  CHECK(slow.wake_at() == kT0 + 210ms);
  CHECK(slow.look(kT0 + 209ms) == State::searching);
  CHECK(slow.look(kT0 + 210ms) == State::found);
  CHECK(slow.address() == "10.2.0.1");

  MasterSearch better = search_of(2, {"n1"});
  better.take(0, reached(1), kT0);
  better.take(0, reached(0), kT0 + 100ms);
  CHECK(better.look(kT0 + 100ms) == State::found);
  CHECK(better.address() == "10.1.0.1");

  MasterSearch failing = search_of(2, {"n1", "n2"});
  failing.take(0, reached(1), kT0);
  failing.take(1, reached(1), kT0);
  failing.take(1, failed(0), kT0);
  CHECK(failing.look(kT0) == State::found);
  CHECK(failing.address() == "10.2.0.1");
}

TEST_CASE("when none is reached by all, the table says who did not reach what") {
  MasterSearch search = search_of(2, {"n1", "n2", "n3"});
  for (const std::size_t prober : {0, 2}) {
    search.take(prober, reached(0), kT0);
    search.take(prober, failed(1, "No route to host"), kT0);
  }
  search.take(1, failed(0), kT0);
  CHECK(search.look(kT0) == State::searching);  // for the table
  CHECK(search.look(kT0 + MasterSearch::kPatience) == State::missing);
  const std::string table = search.table("n0");
  CHECK(
      table.starts_with("no address of n0 is reached by all other nodes:\n"
                        "  n[1,3]: 10.1.0.1 (eth0): reached; 10.2.0.1 (eth1): No route to host\n"
                        "  n2: 10.1.0.1 (eth0): refused; 10.2.0.1 (eth1): not said in time\n"));
  CHECK(table.find("--master-addr") != std::string::npos);
  CHECK(search.cut_off() == std::vector<std::size_t>{1});
}

TEST_CASE("nodes with the interfaces of a prober share its fate") {
  const std::vector<NodeView> nodes{{.network = "a"}, {.network = "b"}, {.network = "c"},
                                    {.network = "b"}, {}, {}};
  CHECK(probing_nodes(nodes) == std::vector<int>{1, 2, 4, 5});
  CHECK(nodes_beside(nodes, {1, 2, 4, 5}, {0, 2}) == std::vector<int>{1, 3, 4});
  CHECK(nodes_beside(nodes, {1, 2, 4, 5}, {}).empty());
}

TEST_CASE(
    "probers that say nothing end the search in the end; late and foreign words change nothing") {
  MasterSearch search = search_of(1, {"n1"});
  search.take(0, reached(7), kT0);
  CHECK(search.look(kT0 + MasterSearch::kPatience - 1ms) == State::searching);
  CHECK(search.look(kT0 + MasterSearch::kPatience) == State::missing);
  MasterSearch twice = search_of(1, {"n1"});
  twice.take(0, failed(0), kT0);
  twice.take(0, reached(0), kT0);
  CHECK(twice.look(kT0) == State::missing);
}

TEST_CASE("ranks start once MASTER_ADDR is found, and again without a search on the same agents") {
  JobState job(placement_of(2, 1), {.max_restarts = 1, .find_master = true});
  job.on(Start{}, kT0);
  for (const int agent : {0, 1}) job.on(AgentGreeted{agent}, kT0);
  job.on(AgentReady{1, 0}, kT0);
  CHECK(text_of(job.on(AgentReady{0, 4000}, kT0)) == "find master 4000");
  CHECK(text_of(job.on(MasterFound{}, kT0)) == "go 4000");
  CHECK(text_of(job.on(MasterFound{}, kT0)).empty());
  job.on(exited(1, 7), kT0);
  job.on(AgentCleared{1}, kT0);
  job.on(AgentCleared{0}, kT0);
  job.on(AgentReady{1, 0}, kT0);
  // Its door is open again, for the new port.
  CHECK(text_of(job.on(AgentReady{0, 4001}, kT0)) == "shut the door of 4001");
  CHECK(text_of(job.on(MasterFound{}, kT0)) == "go 4001");
}

TEST_CASE("a node lost during the search, and a search without result") {
  JobState job(placement_of(2, 1), {.find_master = true}, {{.name = "s", .slots = 1}});
  job.on(Start{}, kT0);
  for (const int agent : {0, 1, 2}) job.on(AgentGreeted{agent}, kT0);
  job.on(AgentReady{1, 0}, kT0);
  CHECK(text_of(job.on(AgentReady{0, 4000}, kT0)) == "find master 4000");
  CHECK(text_of(job.on(AgentLost{1, "n1: gone"}, kT0)) == "close 1, say, spec 1 to 2");
  CHECK(text_of(job.on(MasterFound{}, kT0)).empty());  // of the search before
  CHECK(text_of(job.on(AgentReady{2, 0}, kT0)) == "find master 4000");
  CHECK(text_of(job.on(MasterMissing{"no way"}, kT0)) == "say, kill 0, kill 2");
  job.on(AgentDone{0}, kT0);
  CHECK(text_of(job.on(AgentDone{2}, kT0)) == "close 2, finish 69, bad ");
}
