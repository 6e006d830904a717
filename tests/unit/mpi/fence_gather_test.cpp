// Tests fences at the root: pairs go to every other node, and missing ranks are named.
#include "launcher/mpi/fence_gather.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace ds::launcher;
using namespace std::chrono_literals;

namespace {

const ds::Clock::time_point kBegin{1h};

/// Two nodes with ranks 0-1 and 2-3.
FenceGather two_nodes(std::chrono::milliseconds timeout = {}) {
  FenceGather gather(timeout);
  gather.begin({{0, 1}, {2, 3}});
  return gather;
}

/// "0,1: ab last": the nodes, the data, and the end of the fence.
std::string released(FenceGather& gather) {
  std::string text;
  while (const auto next = gather.next_release())
    text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", fmt::join(next->nodes, ","),
                        next->message.data, next->message.last ? " last" : "");
  return text;
}

FenceIn part(const std::string& data, bool last = true) { return {.last = last, .data = data}; }

std::string problem_of(FenceGather& gather) {
  const auto problem = gather.take_problem();
  if (!problem) return "none";
  return fmt::format("{} after {} ms", fmt::join(problem->ranks, ","), problem->waited.count());
}

}  // namespace

TEST_CASE(
    "a fence ends when every node has come, and all nodes get the data in the order of nodes") {
  FenceGather gather;
  gather.begin({{0}, {1}, {2}});
  gather.take(1, part("b"), kBegin);
  gather.take(0, part("a", false), kBegin);
  gather.take(0, part("c"), kBegin);
  CHECK(released(gather).empty());
  gather.take(2, FenceIn{}, kBegin);
  CHECK(released(gather) == "0,1,2: acb last");
  CHECK(released(gather).empty());
  for (int node = 0; node < 3; ++node) gather.take(node, FenceIn{}, kBegin);
  CHECK(released(gather) == "0,1,2:  last");
}

TEST_CASE("much data goes in several frames, and the parts of a node stay whole") {
  FenceGather gather = two_nodes();
  for (int i = 0; i < 5; ++i)
    gather.take(0, part(std::string(kFenceFrameBytes / 2 - 10, 'v'), i == 4), kBegin);
  gather.take(1, FenceIn{}, kBegin);
  std::vector<std::size_t> sizes;
  while (const auto next = gather.next_release()) {
    CHECK(next->nodes == std::vector<int>{0, 1});
    CHECK(next->message.last == (sizes.size() == 2));
    CHECK(next->message.number == 1);
    sizes.push_back(next->message.data.size());
  }
  const std::size_t half = kFenceFrameBytes / 2 - 10;
  CHECK(sizes == std::vector<std::size_t>{2 * half, 2 * half, half});
}

TEST_CASE("fences of some ranks concern their nodes alone, and each fence has a number") {
  FenceGather gather;
  gather.begin({{0, 1}, {2, 3}, {4}});
  const FenceIn of_two{.name = "some 1,4", .ranks = {1, 4}};
  gather.take(2, FenceIn(of_two), kBegin);
  gather.take(1, FenceIn(of_two), kBegin);  // It has none of these ranks.
  gather.take(0, FenceIn{.name = "all"}, kBegin);
  CHECK(released(gather).empty());
  gather.take(0, FenceIn(of_two), kBegin);
  const auto first = gather.next_release();
  REQUIRE(first);
  CHECK(first->nodes == std::vector<int>{0, 2});
  CHECK(first->message.name == "some 1,4");
  CHECK(first->message.number == 1);
  gather.take(1, FenceIn{.name = "all"}, kBegin);
  gather.take(2, FenceIn{.name = "all"}, kBegin);
  const auto second = gather.next_release();
  REQUIRE(second);
  CHECK(second->message.name == "all");
  CHECK(second->message.number == 2);
}

TEST_CASE("a rank that has ended is missed in the fences that it belongs to") {
  FenceGather gather;
  gather.begin({{0, 1}, {2, 3}});
  gather.take(0, FenceIn{.name = "some 0,2", .ranks = {0, 2}}, kBegin);
  gather.ended(3);
  CHECK(problem_of(gather) == "none");
  gather.ended(2);
  CHECK(problem_of(gather) == "2 after 0 ms");
}

TEST_CASE("the deadline is for the first fence alone: later a rank may compute for hours") {
  FenceGather gather = two_nodes(10s);
  gather.take(0, FenceIn{}, kBegin);
  gather.take(1, FenceIn{}, kBegin);
  gather.take(0, FenceIn{}, kBegin + 1s);
  gather.take(1, FenceWaits{{3}}, kBegin + 1s);
  CHECK(gather.wake_at() == ds::Clock::time_point::max());
  gather.ended(3);
  CHECK(problem_of(gather) == "3 after 0 ms");
}

TEST_CASE("a rank that has ended and is waited for is a problem, in whatever order it is heard") {
  FenceGather before = two_nodes();
  before.ended(3);
  CHECK(problem_of(before) == "none");
  before.take(0, FenceIn{}, kBegin);
  CHECK(problem_of(before) == "3 after 0 ms");

  FenceGather after = two_nodes();
  after.take(0, FenceIn{}, kBegin);
  after.ended(2);
  after.ended(3);
  CHECK(problem_of(after) == "2 after 0 ms");

  FenceGather reported = two_nodes();
  reported.ended(1);
  reported.take(0, FenceWaits{{1}}, kBegin);
  CHECK(problem_of(reported) == "1 after 0 ms");
}

TEST_CASE("a rank that has ended after the last fence is none") {
  FenceGather gather = two_nodes();
  gather.take(0, FenceIn{}, kBegin);
  gather.take(1, FenceIn{}, kBegin);
  released(gather);
  for (int rank = 0; rank < 4; ++rank) gather.ended(rank);
  CHECK(problem_of(gather) == "none");
}

TEST_CASE("the deadline names all ranks that have not come, as far as their nodes have said") {
  FenceGather gather = two_nodes(10s);
  CHECK(gather.wake_at() == ds::Clock::time_point::max());
  gather.take(1, FenceWaits{{3}}, kBegin);
  CHECK(gather.wake_at() == kBegin + 10s);
  gather.tick(kBegin + 9s);
  CHECK(problem_of(gather) == "none");
  gather.tick(kBegin + 10s);
  CHECK(problem_of(gather) == "0,1,3 after 10000 ms");
  CHECK(gather.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("the deadline ends when no rank is waited for any more, also without a fence") {
  FenceGather gather = two_nodes(10s);
  gather.take(1, FenceWaits{{3}}, kBegin);
  gather.take(1, FenceWaits{}, kBegin + 5s);
  CHECK(gather.wake_at() == ds::Clock::time_point::max());
  gather.ended(3);
  CHECK(problem_of(gather) == "none");
  gather.take(0, FenceIn{}, kBegin + 6s);
  CHECK(gather.wake_at() == kBegin + 16s);
}

TEST_CASE("the deadline begins again after a suspension, ends with the fence, and may be none") {
  FenceGather gather = two_nodes(10s);
  gather.take(1, FenceIn{}, kBegin);
  gather.resume(kBegin + 1h);
  CHECK(gather.wake_at() == kBegin + 1h + 10s);
  gather.take(0, FenceIn{}, kBegin);
  CHECK(gather.wake_at() == ds::Clock::time_point::max());
  gather.resume(kBegin);
  CHECK(gather.wake_at() == ds::Clock::time_point::max());
  FenceGather never = two_nodes();
  never.take(1, FenceIn{}, kBegin);
  CHECK(never.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("a new epoch begins with nothing; messages that do not fit are ignored") {
  FenceGather gather = two_nodes();
  gather.take(0, part("a"), kBegin);
  gather.ended(2);
  gather.take_problem();
  gather.begin({{0, 1}, {2, 3}});
  gather.take(1, FenceIn{}, kBegin);
  CHECK(problem_of(gather) == "none");
  gather.take(1, part("x"), kBegin);
  gather.take(1, FenceWaits{{2}}, kBegin);
  gather.take(-1, FenceIn{}, kBegin);
  gather.take(2, FenceIn{}, kBegin);
  CHECK(released(gather).empty());
  gather.take(0, FenceIn{}, kBegin);
  CHECK(released(gather) == "0,1:  last");
}
