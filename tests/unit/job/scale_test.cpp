// What `dslaunch scale` may change, and each refusal.
#include "launcher/job/scale.h"

#include <doctest/doctest.h>

#include <string>

using namespace ds::launcher;

namespace {

/// A job on a, b and c with 2 slots each, started with --nodes 2:4; d has left.
ScaleFacts facts() {
  ScaleFacts facts{.nodes = {2, 4}, .most_nodes = 4, .most_ranks = 2, .most_world = 8};
  for (const char* name : {"a", "b", "c", "d"}) {
    Host host;
    host.name = name;
    host.slots = 2;
    facts.hosts.push_back(host);
    facts.roles.push_back(host.name == "d" ? HostRole::retired : HostRole::takes_part);
  }
  return facts;
}

std::string problem(const ScaleWish& wish) { return plan_scale(facts(), wish).problem; }

}  // namespace

TEST_CASE("another number of nodes, hosts that join and hosts that leave") {
  ScalePlan plan = plan_scale(facts(), {.nodes = 3});
  CHECK(plan.problem.empty());
  CHECK(plan.most_nodes == 3);
  CHECK(plan.text == "the job will have up to 3 nodes");

  plan = plan_scale(facts(), {.add = {"e,f:1", "d"}, .remove = {"b", "b"}});
  CHECK(plan.problem.empty());
  CHECK(plan.text == "b is removed; e,f,d are added");
  CHECK(plan.retire == std::vector<int>{1});
  REQUIRE(plan.add.size() == 3);
  CHECK(plan.add[0].slots == 2);  // as the first host
  CHECK(plan.add[1].slots == 1);
  CHECK(plan.add[2].name == "d");  // a host that has left may join again
  CHECK(plan.most_nodes == 4);
}

TEST_CASE("no epoch may have more ranks than the job was started for, whoever leaves") {
  ScaleFacts uneven = facts();  // a:2 b:2 c:2, and e:2 would make 8
  uneven.most_world = 7;
  CHECK(plan_scale(uneven, {.add = {"e:1"}}).problem.empty());
  CHECK(plan_scale(uneven, {.add = {"e:2"}}).problem ==
        "8 ranks could be in one epoch then; the job was started for at most 7");
  CHECK(plan_scale(uneven, {.add = {"e:2"}, .remove = {"a"}}).problem.empty());
}

TEST_CASE("the size of a training falls by one node at a time; hosts leave one after the other") {
  ScaleFacts training = facts();
  training.training = 4;
  CHECK(plan_scale(training, {.nodes = 3}).problem.empty());
  CHECK(plan_scale(training, {.nodes = 2}).problem.starts_with("2 nodes would leave at once"));
  CHECK(plan_scale(training, {.add = {"e", "f"}, .remove = {"a", "b"}}).problem.empty());
}

TEST_CASE("no host that takes part leaves a training that would begin again at step 0") {
  ScaleFacts training = facts();
  training.training = 3;
  training.loses_steps = true;
  CHECK(plan_scale(training, {.remove = {"a"}}).problem ==
        "the training would begin again at step 0, because it neither keeps its states in memory "
        "(elastic.every=0) nor saves checkpoints; start it with checkpoint.dir=FOLDER, or without "
        "elastic.every=0");
  CHECK(plan_scale(training, {.nodes = 2}).problem.starts_with("the training would begin again"));
  CHECK(plan_scale(training, {.nodes = 3}).problem.empty());
  CHECK(plan_scale(training, {.add = {"e"}}).problem.empty());
  training.roles[2] = HostRole::waits;
  CHECK(plan_scale(training, {.remove = {"c"}}).problem.empty());
}

TEST_CASE("hosts that are down do not count as those that are left") {
  ScaleFacts some = facts();
  some.roles[1] = HostRole::away;
  CHECK(plan_scale(some, {.remove = {"a"}}).problem ==
        "1 host would be left, because 1 is down; the job needs at least 2");
  CHECK(plan_scale(some, {.add = {"e"}, .remove = {"a"}}).problem.empty());
  CHECK(plan_scale(some, {.remove = {"b"}}).problem.empty());
  some.roles[0] = HostRole::away;
  CHECK(plan_scale(some, {.remove = {"b"}}).problem.empty());  // too few are there already
}

TEST_CASE("a host may be added although there are still too few then") {
  ScaleFacts few = facts();
  few.nodes.least = 4;
  few.roles[1] = few.roles[2] = HostRole::retired;
  CHECK(plan_scale(few, {.add = {"e"}}).problem.empty());
  CHECK(!plan_scale(few, {.add = {"e"}, .remove = {"a"}}).problem.empty());
}

TEST_CASE("each refusal changes nothing and says why") {
  CHECK(problem({.nodes = 1}) == "1 node is out of range: the job was started with --nodes 2:4");
  CHECK(problem({.nodes = 5}).starts_with("5 nodes is out of range"));
  CHECK(problem({.nodes = 4}) == "nothing changes: the job already has up to 4 nodes");
  CHECK(problem({}) == "nothing changes: give --nodes, --add or --remove");
  CHECK(problem({.remove = {"x"}}).starts_with("no host of the job is named 'x': they are "));
  CHECK(plan_scale(facts(), {.add = {"e", "f"}, .remove = {"a,b"}}).retire.size() == 2);
  CHECK(problem({.remove = {"d"}}).starts_with("d has been removed already; "));
  CHECK(problem({.add = {"a"}}) == "a is a host of the job already");
  CHECK(problem({.remove = {"a", "b"}}) == "1 host would be left; the job needs at least 2");
  CHECK(problem({.add = {"e:3"}}) ==
        "e would run 3 ranks, but no host of this job may run more than 2 ranks");
  CHECK(problem({.add = {"e:*"}}).ends_with("the number of slots must be given"));
  CHECK(!problem({.add = {"e:x"}}).empty());
  CHECK(problem({.add = {"e"}, .remove = {"a", "b"}}).empty());
}
