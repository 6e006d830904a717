// Tests of find_race() against the definition: every pair of ops, all paths.
#include "engine/program/find_race.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace ds;  // NOLINT: the tests of one folder

namespace {

// ordered[b][a]: a has ended before b begins, over all paths, one op at a time.
std::vector<std::vector<bool>> order_of(const std::vector<ScheduledOp>& ops) {
  std::vector<std::vector<bool>> before(ops.size(), std::vector<bool>(ops.size(), false));
  for (std::size_t b = 0; b < ops.size(); ++b) {
    const auto add = [&](std::size_t a) {
      before[b][a] = true;
      for (std::size_t i = 0; i < ops.size(); ++i) before[b][i] = before[b][i] || before[a][i];
    };
    for (std::size_t a = 0; a < b; ++a) {
      if (ops[a].stream == ops[b].stream) add(a);
    }
    for (const int a : ops[b].waits) add(static_cast<std::size_t>(a));
  }
  return before;
}

bool conflict(const Access& a, const Access& b) {
  return a.memory == b.memory && (a.write || b.write) &&
         std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

bool conflict(const ScheduledOp& a, const ScheduledOp& b) {
  return std::any_of(a.accesses.begin(), a.accesses.end(), [&](const Access& x) {
    return std::any_of(b.accesses.begin(), b.accesses.end(),
                       [&](const Access& y) { return conflict(x, y); });
  });
}

// Returns the second op of the first unordered pair; -1 without one.
int first_race(const std::vector<ScheduledOp>& ops) {
  const auto before = order_of(ops);
  for (std::size_t b = 0; b < ops.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!before[b][a] && conflict(ops[a], ops[b])) return static_cast<int>(b);
    }
  }
  return -1;
}

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 random_;
};

std::vector<ScheduledOp> random_ops(Random& random) {
  std::vector<ScheduledOp> ops(static_cast<std::size_t>(2 + random.below(40)));
  const int streams = 1 + random.below(5), bytes = 8 + random.below(200);
  for (ScheduledOp& op : ops) {
    op.stream = random.below(streams);
    for (int i = random.below(5); i > 0; --i) {
      const int begin = random.below(bytes);
      op.accesses.push_back({.memory = random.below(2),
                             .begin = begin,
                             .end = begin + random.below(bytes / 4),
                             .write = random.below(3) == 0,
                             .value = i});
    }
  }
  return ops;
}

// Adds an edge for every conflict, except those that other edges imply.
void add_edges(std::vector<ScheduledOp>& ops) {
  for (std::size_t b = 0; b < ops.size(); ++b) {
    for (std::size_t a = b; a-- > 0;) {
      if (conflict(ops[a], ops[b]) && !order_of(ops)[b][a])
        ops[b].waits.push_back(static_cast<int>(a));
    }
  }
}

}  // namespace

TEST_CASE("a write that does not wait for a reader of another stream is found, with its bytes") {
  std::vector<ScheduledOp> ops{
      {.stream = 0, .waits = {}, .accesses = {{.begin = 0, .end = 100, .write = true, .value = 7}}},
      {.stream = 1, .waits = {0}, .accesses = {{.begin = 20, .end = 60, .value = 8}}},
      {.stream = 0,
       .waits = {},
       .accesses = {{.begin = 50, .end = 300, .write = true, .value = 9}}}};
  const std::optional<Race> race = find_race(ops);
  REQUIRE(race);
  CHECK(race->first == 1);
  CHECK(race->second == 2);
  CHECK(race->of_first.value == 8);
  CHECK(race->of_second.value == 9);
  CHECK(race->begin() == 50);
  CHECK(race->end() == 60);
  ops[2].waits = {1};
  CHECK(!find_race(ops));
  ops[2].waits = {};
  ops[2].accesses[0].begin = 60;  // only the bytes of op 0, which is on the same stream
  CHECK(!find_race(ops));
  ops[2].accesses[0] = {.memory = 1, .begin = 0, .end = 300, .write = true, .value = 9};
  CHECK(!find_race(ops));
}

TEST_CASE("order passes through third streams") {
  std::vector<ScheduledOp> ops{
      {.stream = 0, .waits = {}, .accesses = {{.begin = 0, .end = 8, .write = true}}},
      {.stream = 1, .waits = {0}, .accesses = {}},
      {.stream = 1, .waits = {}, .accesses = {}},
      {.stream = 2, .waits = {2}, .accesses = {{.begin = 0, .end = 8}}}};
  CHECK(!find_race(ops));
  ops[1].waits = {};
  CHECK(find_race(ops));
}

TEST_CASE("the sweep finds a race exactly where all pairs have one (random schedules)") {
  Random random(1);
  int races = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<ScheduledOp> ops = random_ops(random);
    for (std::size_t b = 1; b < ops.size(); ++b) {
      for (int i = random.below(4); i > 0; --i)
        ops[b].waits.push_back(random.below(static_cast<int>(b)));
    }
    const int expected = first_race(ops);
    const std::optional<Race> race = find_race(ops);
    REQUIRE((race ? race->second : -1) == expected);
    if (!race) continue;
    ++races;
    const auto b = static_cast<std::size_t>(race->second),
               a = static_cast<std::size_t>(race->first);
    REQUIRE(!order_of(ops)[b][a]);
    REQUIRE(conflict(race->of_first, race->of_second));
    REQUIRE(race->begin() < race->end());
  }
  CHECK(races > 500);
  CHECK(races < 2900);
}

TEST_CASE("every edge that others do not imply is missed (random schedules)") {
  Random random(2);
  int removed = 0;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<ScheduledOp> ops = random_ops(random);
    add_edges(ops);
    REQUIRE(!find_race(ops));
    for (std::size_t b = 0; b < ops.size(); ++b) {
      const std::vector<int> waits = ops[b].waits;
      for (std::size_t i = 0; i < waits.size(); ++i) {
        ops[b].waits.erase(ops[b].waits.begin() + static_cast<std::ptrdiff_t>(i));
        const bool implied = order_of(ops)[b][static_cast<std::size_t>(waits[i])];
        REQUIRE(find_race(ops).has_value() == !implied);
        ops[b].waits = waits;
        ++removed;
      }
    }
  }
  CHECK(removed > 100);
}
