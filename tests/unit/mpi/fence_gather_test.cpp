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

/// "0: a=1, last; 1: last"
std::string released(FenceGather& gather) {
  std::string text;
  while (const auto next = gather.next_release()) {
    text += fmt::format("{}{}:", text.empty() ? "" : "; ", next->node);
    for (const auto& [key, value] : next->message.pairs) text += fmt::format(" {}={}", key, value);
    if (next->message.last) text += " last";
  }
  return text;
}

std::string problem_of(FenceGather& gather) {
  const auto problem = gather.take_problem();
  if (!problem) return "none";
  return fmt::format("{} after {} ms", fmt::join(problem->ranks, ","), problem->waited.count());
}

}  // namespace

TEST_CASE("a fence ends when every node has come, and each pair goes once to each other node") {
  FenceGather gather;
  gather.begin({{0}, {1}, {2}});
  gather.take(1, FenceIn{true, {{"b", "2"}}}, kBegin);
  gather.take(0, FenceIn{false, {{"a", "1"}}}, kBegin);
  gather.take(0, FenceIn{true, {{"c", "3"}}}, kBegin);
  CHECK(released(gather).empty());
  gather.take(2, FenceIn{}, kBegin);
  CHECK(released(gather) == "0: b=2 last; 1: a=1 c=3 last; 2: a=1 c=3 b=2 last");
  CHECK(released(gather).empty());
  for (int node = 0; node < 3; ++node) gather.take(node, FenceIn{}, kBegin);
  CHECK(released(gather) == "0: last; 1: last; 2: last");
}

TEST_CASE("many pairs go in several frames") {
  FenceGather gather = two_nodes();
  KeyValues pairs;
  for (int i = 0; i < 3000; ++i) pairs.emplace_back(fmt::format("{}", i), std::string(1000, 'v'));
  gather.take(0, FenceIn{true, pairs}, kBegin);
  gather.take(1, FenceIn{}, kBegin);
  std::size_t to_second = 0, frames = 0;
  while (const auto next = gather.next_release()) {
    if (next->node == 1) ++frames, to_second += next->message.pairs.size();
  }
  CHECK(to_second == 3000);
  CHECK(frames == 3);
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
  gather.take(0, FenceIn{true, {{"a", "1"}}}, kBegin);
  gather.ended(2);
  gather.take_problem();
  gather.begin({{0, 1}, {2, 3}});
  gather.take(1, FenceIn{}, kBegin);
  CHECK(problem_of(gather) == "none");
  gather.take(1, FenceIn{true, {{"x", "y"}}}, kBegin);
  gather.take(1, FenceWaits{{2}}, kBegin);
  gather.take(-1, FenceIn{}, kBegin);
  gather.take(2, FenceIn{}, kBegin);
  CHECK(released(gather).empty());
  gather.take(0, FenceIn{}, kBegin);
  CHECK(released(gather) == "0: last; 1: last");
}
