// Tests published names at the root: who gets which answer, and when.
#include "launcher/mpi/published_names.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

using namespace ds::launcher;

namespace {

using Kind = NameAsk::Kind;

NameAsk publish(int rank, KeyValues names, bool once = false) {
  return {.rank = rank, .kind = Kind::publish, .once = once, .names = std::move(names)};
}
NameAsk look_up(int rank, const std::vector<std::string>& names, std::uint32_t wanted = 0) {
  NameAsk ask{.rank = rank, .kind = Kind::look_up, .wanted = wanted};
  for (const std::string& name : names) ask.names.emplace_back(name, "");
  return ask;
}
NameAsk withdraw(int rank, const std::vector<std::string>& names) {
  NameAsk ask = look_up(rank, names);
  ask.kind = Kind::withdraw;
  return ask;
}

/// "0>3 done s=p(1)": node, rank, status, and what was found with its rank.
std::string text_of(const std::vector<PublishedNames::Out>& out) {
  constexpr const char* kStatus[] = {"done", "exists", "unknown", "full"};
  std::string text;
  for (const auto& [node, message] : out) {
    text += fmt::format("{}{}>{} {}", text.empty() ? "" : ", ", node, message.rank,
                        kStatus[static_cast<int>(message.status)]);
    for (const NameAnswer::Found& each : message.found)
      text += fmt::format(" {}={}({})", each.name, each.value, each.rank);
  }
  return text;
}

}  // namespace

TEST_CASE("a name that one rank publishes, another one finds until it is withdrawn") {
  PublishedNames names;
  CHECK(text_of(names.take(0, publish(1, {{"s", "p"}}))) == "0>1 done");
  CHECK(text_of(names.take(1, look_up(3, {"s"}))) == "1>3 done s=p(1)");
  CHECK(text_of(names.take(1, look_up(3, {"t", "s"}))) == "1>3 done s=p(1)");
  CHECK(text_of(names.take(1, publish(3, {{"s", "q"}}))) == "1>3 exists");
  CHECK(text_of(names.take(0, withdraw(1, {"s"}))) == "0>1 done");
  CHECK(text_of(names.take(1, look_up(3, {"s"}))) == "1>3 done");
  CHECK(text_of(names.take(0, withdraw(1, {"s"}))) == "0>1 unknown");
}

TEST_CASE("a lookup waits until as many names are there as it wants") {
  PublishedNames names;
  CHECK(names.take(1, look_up(3, {"s", "t"}, 2)).empty());
  CHECK(names.take(1, look_up(2, {"s", "t"}, 1)).empty());
  CHECK(text_of(names.take(0, publish(1, {{"s", "p"}}))) == "0>1 done, 1>2 done s=p(1)");
  CHECK(text_of(names.take(0, publish(0, {{"t", "q"}}))) == "0>0 done, 1>3 done s=p(1) t=q(0)");
  CHECK(text_of(names.take(0, publish(0, {{"u", ""}}))) == "0>0 done");  // nobody is left
  CHECK(text_of(names.take(1, look_up(3, {"s"}, 9))) == "1>3 done s=p(1)");
}

TEST_CASE("a lookup that is cancelled or whose node has ended takes nothing") {
  PublishedNames names;
  NameAsk cancelled = look_up(3, {"s"}, 1);
  CHECK(names.take(1, NameAsk(cancelled)).empty());
  cancelled.kind = Kind::cancel;
  CHECK(names.take(1, NameAsk(cancelled)).empty());
  CHECK(names.take(2, look_up(4, {"s"}, 1)).empty());
  names.ended(2);
  CHECK(text_of(names.take(0, publish(1, {{"s", "p"}}, true))) == "0>1 done");
  CHECK(text_of(names.take(1, look_up(3, {"s"}))) == "1>3 done s=p(1)");
  CHECK(text_of(names.take(1, look_up(3, {"s"}))) == "1>3 done");  // it went with the first lookup
}

TEST_CASE("a request publishes all its names or none") {
  PublishedNames names;
  names.take(0, publish(1, {{"s", "p"}}));
  CHECK(text_of(names.take(0, publish(1, {{"t", "q"}, {"s", "q"}}))) == "0>1 exists");
  CHECK(text_of(names.take(0, publish(1, {{"t", "q"}, {"t", "r"}}))) == "0>1 exists");
  CHECK(text_of(names.take(0, look_up(1, {"t"}))) == "0>1 done");
}

TEST_CASE("without names, all of the rank are withdrawn") {
  PublishedNames names;
  names.take(0, publish(1, {{"s", "p"}, {"t", "q"}}));
  names.take(0, publish(2, {{"u", "r"}}));
  CHECK(text_of(names.take(0, withdraw(1, {}))) == "0>1 done");
  CHECK(text_of(names.take(0, look_up(1, {"s", "t", "u"}))) == "0>1 done u=r(2)");
}

TEST_CASE("memory and answers have a bound") {
  PublishedNames names;
  const std::string value(std::size_t{1} << 20, 'v');
  int stored = 0;
  while (text_of(names.take(0, publish(1, {{fmt::format("n{}", stored), value}}))) == "0>1 done")
    ++stored;
  CHECK(stored == 63);
  CHECK(text_of(names.take(0, look_up(1, {"n0", "n1", "n2"}))) == "0>1 full");
  CHECK(names.take(0, look_up(1, {"n0"})).front().message.found.size() == 1);
  names.take(0, withdraw(1, {}));
  CHECK(text_of(names.take(0, publish(1, {{"again", value}}))) == "0>1 done");
}
