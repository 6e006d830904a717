// Which agent may fill which node.
#include "launcher/job/roster.h"

#include <doctest/doctest.h>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;

namespace {

Host host_with(const char* name, int slots) {
  return {.name = name, .user = {}, .port = 0, .slots = slots, .place = {}};
}

}  // namespace

TEST_CASE("the first spare that waits and is large enough fills a node; a lost host comes last") {
  Roster roster(placement_of(2, 2),
                {host_with("small", 1), host_with("s0", 2), host_with("s1", 4)});
  const int again = roster.add_again(1);
  CHECK(roster.host_of(again).name == "n1");
  roster.remove(1);
  CHECK(roster.agent_of(1) == -1);
  roster.vacate({1, "gone"}, 2, 1);
  CHECK_FALSE(roster.fill_one());
  CHECK(roster.help_is_coming());
  for (const int agent : {again, 2, 4, 3}) roster.waits(agent);
  CHECK_FALSE(roster.help_is_coming());
  CHECK(roster.fill_one()->reason == "gone");
  CHECK(roster.agent_of(1) == 3);
  CHECK(roster.node_of(3) == 1);
  CHECK_FALSE(roster.has_vacancies());
  CHECK(roster.help_is_coming());
  for (const int next : {4, again}) {
    roster.remove(roster.agent_of(1));
    roster.vacate({1, "gone"}, 2, 1);
    CHECK(roster.fill_one());
    CHECK(roster.agent_of(1) == next);
  }
  roster.remove(0);
  roster.vacate({0, "gone"}, 2, 0);
  CHECK_FALSE(roster.fill_one());  // the small one waits, and is too small
}

TEST_CASE("the node that needs most slots is filled first; nodes are told of in their order") {
  Roster roster(placement_of(3, 4), {host_with("s0", 4), host_with("s1", 2)});
  for (const int node : {2, 0, 1}) {
    roster.remove(node);
    roster.vacate({node, "gone"}, node == 2 ? 4 : 2, node);
  }
  CHECK(roster.vacancies() == 3);
  CHECK(roster.bad_nodes().front().node == 0);
  for (const int agent : {3, 4}) roster.waits(agent);
  CHECK(roster.fill_one()->node == 2);
  CHECK(roster.agent_of(2) == 3);
  CHECK(roster.fill_one()->node == 0);
  CHECK_FALSE(roster.fill_one());
}

TEST_CASE("another host in a place changes no rank's number") {
  const Placement last = placement_of(2, 2);
  Placement next = with_host(last, 1, host_with("s0", 2));
  CHECK(next.nodes[1].host.name == "s0");
  CHECK(next.ranks == last.ranks);
  Placement odd = last;
  odd.ranks[3].slot = 7;  // a slot that the other host does not have
  next = with_host(odd, 1, host_with("s0", 2));
  CHECK(next.ranks == last.ranks);
}

TEST_CASE("nodes that change: agents get other nodes, leave them, and wait") {
  Roster roster(placement_of(3, 1), {}, /*open=*/true);
  CHECK(roster.seated() == 0);
  CHECK(roster.agent_of(1) == -1);
  for (const int agent : {2, 0, 1}) roster.waits(agent);
  CHECK(roster.waiting_agents() == std::vector<int>{0, 1, 2});
  roster.seat({2, 0});
  CHECK(roster.seated() == 2);
  CHECK(roster.node_of(2) == 0);
  CHECK(roster.waiting_agents() == std::vector<int>{1});
  roster.remove(2);
  CHECK(roster.seated() == 1);
  CHECK(roster.agent_of(0) == -1);
  const int again = roster.add_again(2);
  const int added = roster.add_agent(roster.add_host({.name = "x"}), false);
  CHECK(roster.host_of(added).name == "x");
  CHECK(roster.host_number(added) == 3);
  for (const int agent : {again, added}) roster.waits(agent);
  CHECK(roster.waiting_agents() == std::vector<int>{1, added, again});  // a lost host comes last
  roster.seat({1, added});
  CHECK(roster.node_of(0) == -1);
  CHECK(roster.waiting_agents() == std::vector<int>{0, again});
  roster.leave(1);
  CHECK(roster.node_of(1) == -1);
  CHECK(roster.seated() == 1);
}
