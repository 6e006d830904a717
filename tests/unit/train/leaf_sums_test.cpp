// LeafSums: the bits of a serial exact sum, with any number of threads.
#include "engine/train/leaf_sums.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace ds;  // NOLINT: the tests of one file

TEST_CASE("leaf sums: the same bits as one thread") {
  constexpr std::int64_t kLeaves = (1 << 18) + 7;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-300, 300);
  std::vector<double> sums(kLeaves);
  std::vector<std::int64_t> counts(kLeaves);
  ExactSum expected;
  std::int64_t expected_count = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = std::exp2(exponent(random)) * static_cast<double>(random());
    expected.add(sums[i]);
    expected_count += counts[i] = static_cast<std::int64_t>(random() % 1000);
  }
  for (const int threads : {1, 2, 3, 8}) {
    LeafSums leaves(kLeaves, threads);
    ExactSum sum;
    leaves.add(sums, sum);
    leaves.add({}, sum);
    CHECK(sum == expected);
    CHECK(leaves.total(counts) == expected_count);
    sums[5] = std::numeric_limits<double>::infinity();
    ExactSum bad;
    leaves.add(sums, bad);
    CHECK(bad.has_non_finite());
    sums[5] = 0;
    expected = {};
    for (const double value : sums) expected.add(value);
  }
}
