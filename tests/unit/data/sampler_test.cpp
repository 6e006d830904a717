// Tests of Sampler: every window once per epoch, inside the corpus, the same for every world size.
#include "engine/data/sampler.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using ds::BatchPlan;
using ds::Permutation;
using ds::Sampler;

TEST_CASE("a permutation contains every number of [0, size) once and depends on the key") {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 1000, 4097}) {
    std::vector<bool> seen(static_cast<std::size_t>(size));
    const Permutation permutation(size, 7);
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t to = permutation.at(i);
      REQUIRE(to >= 0);
      REQUIRE(to < size);
      CHECK_FALSE(seen[static_cast<std::size_t>(to)]);
      seen[static_cast<std::size_t>(to)] = true;
    }
  }
  int equal = 0, fixed = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    if (Permutation(1000, 1).at(i) == Permutation(1000, 2).at(i)) ++equal;
    if (Permutation(1000, 1).at(i) == i) ++fixed;
  }
  CHECK(equal < 15);  // random permutations have 1 on average
  CHECK(fixed < 15);
}

TEST_CASE("an epoch contains each window once; windows do not overlap and lie in the text") {
  struct Row {
    std::int64_t bytes, seq_len;
  };
  for (const Row row : {Row{9, 8}, Row{16, 8}, Row{17, 8}, Row{24, 8}, Row{25, 8}, Row{1000, 8},
                        Row{1003, 7}, Row{50, 1}}) {
    const Sampler sampler(row.bytes, row.seq_len, 3);
    for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
      std::set<std::int64_t> offsets;
      for (std::int64_t i = 0; i < sampler.windows(); ++i) {
        const std::int64_t offset = sampler.offset(epoch * sampler.windows() + i);
        CHECK(offset >= 0);
        CHECK(offset + row.seq_len + 1 <= row.bytes);
        CHECK(offsets.insert(offset).second);
        CHECK((offset - *offsets.begin()) % row.seq_len == 0);  // one phase per epoch
      }
    }
  }
}

TEST_CASE("epochs differ in order and in phase; equal seeds agree") {
  const Sampler sampler(100'000, 64, 42);
  std::set<std::int64_t> phases;
  for (std::int64_t epoch = 0; epoch < 32; ++epoch) {
    phases.insert(sampler.offset(epoch * sampler.windows()) % 64);
  }
  CHECK(phases.size() > 16);
  CHECK(sampler.offset(123'456) == Sampler(100'000, 64, 42).offset(123'456));
  CHECK(sampler.offset(0) != Sampler(100'000, 64, 43).offset(0));
}

TEST_CASE(
    "the samples of a step are a range of numbers, however many ranks hold the virtual ranks") {
  const BatchPlan plan{.micro = 3, .accum = 2, .virtual_ranks = 4};
  std::set<std::int64_t> samples;
  for (std::int64_t v = 0; v < 4; ++v) {
    for (std::int64_t m = 0; m < 2; ++m) {
      for (std::int64_t b = 0; b < 3; ++b) samples.insert(plan.sample(5, m, v, b));
    }
  }
  CHECK(samples.size() == 24);
  CHECK(*samples.begin() == 5 * 24);
  CHECK(*samples.rbegin() == 6 * 24 - 1);
}

TEST_CASE("validation windows are spread from the first byte to the last") {
  CHECK(ds::validation_offset(1000, 9, 0, 4) == 0);
  CHECK(ds::validation_offset(1000, 9, 1, 4) == 330);
  CHECK(ds::validation_offset(1000, 9, 3, 4) == 990);
  CHECK(ds::validation_offset(10, 9, 2, 4) == 0);
  CHECK(ds::validation_offset(1000, 9, 0, 1) == 990);
}
