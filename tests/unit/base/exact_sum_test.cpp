// Tests of ExactSum: equal bits in every order, correct rounding, the whole range of doubles.
#include "engine/base/exact_sum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using ds::ExactSum;

namespace {

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum.rounded();
}

}  // namespace

TEST_CASE("the sum of one number is that number") {
  for (const double value :
       {0.0, 1.0, -1.0, 0.1, -1e300, 5e-324, std::numeric_limits<double>::max(),
        std::numeric_limits<double>::lowest(), std::numeric_limits<double>::min()}) {
    CHECK(sum_of({value}) == value);
  }
}

TEST_CASE("digits that a running sum loses are kept") {
  CHECK(sum_of({1e300, 1.0, -1e300}) == 1.0);
  CHECK(sum_of({1.0, 1e-300, -1.0}) == 1e-300);
  CHECK(sum_of({5e-324, -5e-324}) == 0.0);
  CHECK(sum_of({-3.0, 1.0}) == -2.0);
  CHECK(sum_of({1.0, 0x1p-53}) == 1.0);                    // a tie goes to even
  CHECK(sum_of({1.0, 0x1p-53, 5e-324}) == 1.0 + 0x1p-52);  // anything more goes up
  CHECK(
      std::isinf(sum_of({std::numeric_limits<double>::max(), std::numeric_limits<double>::max()})));
}

TEST_CASE("integers agree with integer arithmetic") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    long long expected = 0;
    for (int i = 0; i < 50; ++i) {
      const auto value = static_cast<long long>(random() >> 20) * (random() % 2 == 0 ? 1 : -1);
      values.push_back(static_cast<double>(value));
      expected += value;
    }
    CHECK(sum_of(values) == static_cast<double>(expected));
  }
}

TEST_CASE("every order and grouping gives the same bits, where a running sum does not") {
  std::mt19937_64 random(5);
  std::vector<double> values;
  for (int i = 0; i < 2000; ++i) {
    values.push_back(
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 120) - 100));
  }
  const double sum = sum_of(values);
  double first_running = 0, last_running = 0;
  for (const double value : values) first_running += value;
  for (int round = 0; round < 20; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    std::vector<ExactSum> parts(1 + random() % 7);
    last_running = 0;
    for (const double value : values) {
      parts[random() % parts.size()].add(value);
      last_running += value;
    }
    ExactSum total;
    for (const ExactSum& part : parts) total.add(part);
    CHECK(total.rounded() == sum);
  }
  CHECK(first_running != last_running);
}

TEST_CASE("infinities and NaN make the sum NaN, also after merging") {
  ExactSum bad;
  bad.add(std::numeric_limits<double>::infinity());
  ExactSum good;
  good.add(1.0);
  good.add(bad);
  CHECK(std::isnan(good.rounded()));
}
