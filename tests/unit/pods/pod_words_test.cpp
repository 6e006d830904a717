// Tests of pod options with peers, and of simultaneous stop requests.
#include "launcher/commands/pods/pod_words.h"

#include <doctest/doctest.h>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

Peers four_peers() {
  Peers peers;
  for (int i = 0; i < 4; ++i) {
    peers.names.push_back("gpt-" + std::to_string(i) + ".gpt");
    peers.dial.push_back(peers.names.back() + ".ns.svc.cluster.local");
  }
  return peers;
}

}  // namespace

TEST_CASE("the root is the peer of index 0, on one port for all") {
  PodOptions options;
  Peers peers = four_peers();
  CHECK(root_of(options, peers) == RootWord{"gpt-0.gpt.ns.svc.cluster.local", kJoinPort});
  peers.port = 29500;  // the environment says so
  CHECK(root_of(options, peers).port == 29500);
  options.join_port = 1234;
  CHECK(root_of(options, peers).port == 1234);
  options.root = RootWord{"elsewhere", 0};
  CHECK(root_of(options, peers) == RootWord{"elsewhere", 1234});
  options.root->port = 5;
  CHECK(root_of(options, peers) == RootWord{"elsewhere", 5});
  options = {};
  options.root = RootWord{"elsewhere", 0};  // not of this environment
  CHECK(root_of(options, peers).port == kJoinPort);
}

TEST_CASE("a root whose name is an address listens there alone") {
  Peers peers = four_peers();
  CHECK(listening_address(peers).empty());
  peers.names.front() = "127.0.0.11";
  CHECK(listening_address(peers) == "127.0.0.11");
  peers.names.front() = "2001:db8::1";
  CHECK(listening_address(peers) == "2001:db8::1");
}

TEST_CASE("hosts are the peers, in their order") {
  PodOptions options;
  CHECK(peer_hosts(options, four_peers())[3].name == "gpt-3.gpt");
  CHECK(peer_hosts(options, four_peers())[3].slots == kAutoSlots);
  options.slots = 8;
  CHECK(peer_hosts(options, four_peers())[0].slots == 8);
}

TEST_CASE("a grace beyond that of pods brings advice") {
  CHECK(!grace_advice(10s, {}));
  CHECK(!grace_advice(25s, {}));
  REQUIRE(grace_advice(25'001ms, {}));
  CHECK(grace_advice(60s, {})->find("after 30 s: set their terminationGracePeriodSeconds to at "
                                    "least 65") != std::string::npos);
  // The manifest says what it gave the pods.
  CHECK(!grace_advice(115s, "120"));
  CHECK(grace_advice(116s, "120")->find("after 120 s") != std::string::npos);
  CHECK(grace_advice(10s, "12"));
  CHECK(!grace_advice(25s, "soon"));
}

TEST_CASE("all pods are told to end at once: one request") {
  StopRequests requests;
  CHECK(requests.counts("gpt-2"));
  CHECK(!requests.counts(""));
  CHECK(!requests.counts("gpt-1"));
  CHECK(requests.counts("gpt-1"));  // asked again
  CHECK(requests.counts(""));
}
