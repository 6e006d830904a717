// Tests of the keeper's pure rules: who is whose buddy, which slot is written, how often.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/keep/buddies.h"
#include "engine/keep/keep_pace.h"
#include "engine/keep/keep_turns.h"

using namespace ds;
using Verdict = KeepTurns::Verdict;

namespace {

/// Checks what holds for any nodes. Returns how many ranks have a buddy.
int checked_buddies(const std::vector<int>& nodes) {
  const std::vector<int> buddies = buddies_of(nodes);
  const std::vector<int> wards = wards_of(buddies);
  REQUIRE(buddies.size() == nodes.size());
  std::set<int> taken;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const int buddy = buddies[rank];
    if (buddy == kNoBuddy) continue;
    REQUIRE(nodes[static_cast<std::size_t>(buddy)] != nodes[rank]);
    REQUIRE(taken.insert(buddy).second);
    REQUIRE(wards[static_cast<std::size_t>(buddy)] == static_cast<int>(rank));
  }
  REQUIRE(std::ranges::count(wards, kNoBuddy) == std::ranges::count(buddies, kNoBuddy));
  return static_cast<int>(taken.size());
}

int largest_node(const std::vector<int>& nodes) {
  std::map<int, int> sizes;
  int largest = 0;
  for (const int node : nodes) largest = std::max(largest, ++sizes[node]);
  return largest;
}

}  // namespace

TEST_CASE("buddies are on other nodes and differ, and as many ranks as possible have one") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    const int ranks = 1 + static_cast<int>(random() % 24);
    const int most = 1 + static_cast<int>(random() % 6);
    std::vector<int> nodes;
    for (int rank = 0; rank < ranks; ++rank) nodes.push_back(static_cast<int>(random() % most) * 7);
    CAPTURE(turn);
    const int others = ranks - largest_node(nodes);
    // A rank of the largest node needs one of another node, and the other way around.
    CHECK(checked_buddies(nodes) == std::min(ranks, 2 * others));
  }
}

TEST_CASE("buddies of even nodes, of one node and of one rank") {
  CHECK(buddies_of(std::vector{0, 0, 1, 1}) == std::vector{2, 3, 0, 1});
  CHECK(buddies_of(std::vector{0, 1, 0, 1}) == std::vector{1, 0, 3, 2});
  CHECK(buddies_of(std::vector{5, 5}) == std::vector{kNoBuddy, kNoBuddy});
  CHECK(buddies_of(std::vector{5}) == std::vector{kNoBuddy});
  CHECK(buddies_of(std::vector<int>{}).empty());
  CHECK(buddies_of(std::vector{0, 0, 0, 1}) == std::vector{3, kNoBuddy, kNoBuddy, 2});
  CHECK(numbers_of(std::vector<std::string>{"b", "a", "b", "c", "a"}) ==
        std::vector{0, 1, 0, 3, 1});
}

TEST_CASE("the older slot is written only after the newer step is committed everywhere") {
  KeepTurns turns;
  CHECK(turns.step() == -1);
  CHECK(turns.begin(0).slot == 0);
  CHECK(turns.decide(0, 0) == Verdict::none);
  CHECK(turns.decide(1, 0) == Verdict::committed);
  CHECK(turns.step() == 0);
  CHECK(turns.begin(5).slot == 1);
  CHECK(turns.decide(1, 0) == Verdict::none);
  CHECK(turns.step() == 0);
  CHECK(turns.decide(2, 0) == Verdict::committed);
  CHECK(turns.step() == 5);
  CHECK(turns.begin(9).slot == 0);
  CHECK(turns.decide(3, 3) == Verdict::failed);
  CHECK(turns.step() == 5);
  CHECK_FALSE(turns.under_way());
  // The slot of step 5 is still not written.
  CHECK(turns.begin(10).slot == 0);
  CHECK(turns.decide(3, 3) == Verdict::none);
  CHECK(turns.decide(4, 3) == Verdict::committed);
  CHECK(turns.decide(9, 9) == Verdict::none);
}

TEST_CASE("three failures in a row end keeping; a committed keep forgives the earlier ones") {
  KeepTurns turns;
  const auto fail = [&] { turns.decide(0, turns.begin(1).number); };
  fail(), fail();
  CHECK_FALSE(turns.has_given_up());
  turns.decide(turns.begin(2).number, 0);
  fail(), fail();
  CHECK_FALSE(turns.has_given_up());
  fail();
  CHECK(turns.has_given_up());
  CHECK(turns.step() == 2);
}

TEST_CASE("at every moment of any history, a slot holds the newest committed step untouched") {
  std::mt19937 random(11);
  for (int history = 0; history < 500; ++history) {
    KeepTurns turns;
    std::int64_t slots[2] = {-1, -1};
    for (std::int64_t step = 0; step < 40; ++step) {
      const auto number = turns.number();
      if (turns.under_way()) {
        const int slot = turns.under_way()->slot;
        const std::int64_t of = turns.under_way()->step;
        const auto dice = random() % 3;
        const Verdict verdict =
            turns.decide(dice == 0 ? number : number - 1, dice == 1 ? number : 0);
        CHECK(verdict == (dice == 0   ? Verdict::committed
                          : dice == 1 ? Verdict::failed
                                      : Verdict::none));
        if (dice == 0) slots[slot] = of;
      } else if (random() % 2 == 0) {
        slots[turns.begin(step).slot] = -1;
      }
      CHECK((turns.step() == -1 || slots[0] == turns.step() || slots[1] == turns.step()));
    }
  }
}

TEST_CASE("the pace counts what steps beside a keep take longer than others") {
  KeepPace pace;
  CHECK(pace.interval() == 0);
  pace.step(1.0, true);  // the first step, which is long
  pace.kept(0.5, 0.01);
  CHECK(pace.interval() == doctest::Approx(0.5 / 0.02));  // nothing to compare it with
  for (int i = 0; i < 10; ++i) pace.step(i == 4 ? 9.0 : 0.1, false);
  pace.step(0.12, true);
  pace.step(0.13, true);
  pace.kept(0.25, 0.01);
  CHECK(pace.interval() == doctest::Approx((0.5 + 0.05) / 2 / 0.02));
  for (int i = 0; i < 40; ++i) {
    pace.step(0.1, false);
    pace.step(0.1, true);
    pace.kept(0.05, 0.001);
  }
  CHECK(pace.interval() == doctest::Approx(0.001 / 0.02));  // never less than the stall
  for (int i = 0; i < 40; ++i) {
    pace.step(5, true);
    pace.kept(0.05, 0.001);
  }
  CHECK(pace.interval() == doctest::Approx(0.05 / 0.02));  // never more than the whole keep
}
