// Who may stand in for whom.
#include "launcher/job/roster.h"

#include <doctest/doctest.h>

#include "unit/job/job_helpers.h"

using namespace ds::launcher;
using Stage = AgentRecord::Stage;

namespace {

Host host_with(const char* name, int slots) {
  return {.name = name, .user = {}, .port = 0, .slots = slots, .place = {}};
}

}  // namespace

TEST_CASE("the first spare that waits and is large enough stands in; a lost host comes last") {
  Roster roster(placement_of(2, 2),
                {host_with("small", 1), host_with("s0", 2), host_with("s1", 4)});
  CHECK(roster.size() == 5);
  CHECK_FALSE(roster.stand_in(2));
  CHECK(roster.coming(2) == 2);
  CHECK(roster.coming(1) == 3);
  const int again = roster.dial_again(1);
  CHECK(roster.host_of(again).name == "n1");
  CHECK(roster.coming(2) == 3);
  for (const int agent : {2, 3, 4, again}) roster[agent].stage = Stage::idle;
  roster.remove(1);
  CHECK(roster.agent_of(1) == -1);
  CHECK(roster.stand_in(2) == 3);
  roster.fill(1, 3);
  CHECK(roster.agent_of(1) == 3);
  CHECK(roster.stand_in(2) == 4);
  roster.remove(4);
  CHECK(roster.stand_in(2) == again);
  CHECK(roster.stand_in(1) == 2);
  CHECK_FALSE(roster.stand_in(5));
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
