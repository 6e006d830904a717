// Which changes of a hostfile a running job follows.
#include "launcher/job/hostfile_watch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ds::launcher;

namespace {

HostfileLook look_of(std::initializer_list<const char*> names) {
  HostfileLook look;
  for (const char* name : names) look.hosts.push_back({.name = name, .slots = 2});
  return look;
}

/// "+c -a", "problem"; "-" if nothing changes.
std::string said_of(HostfileWatch& watch, HostfileLook look) {
  const auto change = watch.take(std::move(look));
  if (!change) return "-";
  std::string text = change->problem;
  for (const Host& host : change->add) text += fmt::format("+{} ", host.name);
  for (const std::string& name : change->remove) text += fmt::format("-{} ", name);
  return text;
}

}  // namespace

TEST_CASE("a change of the hostfile counts when two looks find it, and once") {
  HostfileWatch watch(look_of({"a", "b"}).hosts);
  CHECK(said_of(watch, look_of({"a", "b"})) == "-");
  CHECK(said_of(watch, look_of({"a", "b", "c"})) == "-");
  CHECK(said_of(watch, look_of({"b", "c"})) == "-");  // it goes on changing
  CHECK(said_of(watch, look_of({"b", "c"})) == "+c -a ");
  CHECK(said_of(watch, look_of({"b", "c"})) == "-");
  watch.followed();
  CHECK(said_of(watch, look_of({"c", "b"})) == "-");
  CHECK(said_of(watch, look_of({"c", "b"})) == "-");  // only the order
}

TEST_CASE("a change that the job refuses is in the next one") {
  HostfileWatch watch(look_of({"a", "b", "c"}).hosts);
  said_of(watch, look_of({"a"}));
  CHECK(said_of(watch, look_of({"a"})) == "-b -c ");
  said_of(watch, look_of({"a", "b"}));
  CHECK(said_of(watch, look_of({"a", "b"})) == "-c ");
  said_of(watch, look_of({"a", "b", "c"}));
  CHECK(said_of(watch, look_of({"a", "b", "c"})) == "-");
}

TEST_CASE("a change that the job cannot make yet is tried again, and its reason said once") {
  HostfileWatch watch(look_of({"a", "b"}).hosts);
  said_of(watch, look_of({"a"}));
  CHECK(said_of(watch, look_of({"a"})) == "-b ");
  CHECK(watch.refused("a is down"));
  CHECK(said_of(watch, look_of({"a"})) == "-b ");
  CHECK(!watch.refused("a is down"));
  CHECK(said_of(watch, look_of({"a"})) == "-b ");
  watch.followed();
  CHECK(said_of(watch, look_of({"a"})) == "-");
  said_of(watch, look_of({"a", "c"}));
  CHECK(said_of(watch, look_of({"a", "c"})) == "+c ");
  CHECK(watch.refused("a is down"));  // another change
}

TEST_CASE("a hostfile that is empty, wrong or half-written never means that all leave") {
  HostfileWatch watch(look_of({"a", "b"}).hosts);
  CHECK(said_of(watch, look_of({})) == "-");
  CHECK(said_of(watch, look_of({"a", "b"})) == "-");  // empty for a moment
  CHECK(said_of(watch, look_of({})) == "-");
  CHECK(said_of(watch, look_of({})) == "it names no host");
  CHECK(said_of(watch, look_of({})) == "-");
  CHECK(said_of(watch, {.problem = "line 3"}) == "-");
  CHECK(said_of(watch, {.problem = "line 3"}) == "line 3");
  CHECK(said_of(watch, {.problem = "line 3"}) == "-");
  HostfileLook part = look_of({"a"});
  part.is_whole = false;
  for (int i = 0; i < 3; ++i) CHECK(said_of(watch, part) == "-");
  said_of(watch, look_of({"a", "b"}));
  CHECK(said_of(watch, look_of({"a", "b"})) == "-");
}
