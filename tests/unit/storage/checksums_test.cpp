// Tests of Checksums: a piece is known by exactly its range; overlapping pieces are forgotten.
#include "engine/storage/checksums.h"

#include <doctest/doctest.h>

#include <vector>

using ds::Checksums;

namespace {

std::vector<std::byte> bytes(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

}  // namespace

TEST_CASE("a known piece matches only itself") {
  Checksums sums;
  sums.set(100, bytes(50, 1));
  CHECK(sums.matches(100, bytes(50, 1)));
  CHECK_FALSE(sums.matches(100, bytes(50, 2)));
  sums.set(100, bytes(50, 2));
  CHECK(sums.matches(100, bytes(50, 2)));
  CHECK_FALSE(sums.matches(100, bytes(50, 1)));
}

TEST_CASE("a range that is not known exactly is not checked") {
  Checksums sums;
  sums.set(100, bytes(50, 1));
  CHECK(sums.matches(100, bytes(49, 2)));
  CHECK(sums.matches(101, bytes(49, 2)));
  sums.clear();
  CHECK(sums.matches(100, bytes(50, 2)));
}

TEST_CASE("a new piece removes those that overlap it, not those that touch it") {
  Checksums sums;
  for (const int at : {0, 10, 20, 30, 40}) sums.set(at, bytes(10, at));
  sums.set(15, bytes(15, 9));  // 15..29: overlaps 10 and 20, ends at 30
  CHECK_FALSE(sums.matches(0, bytes(10, 7)));
  CHECK(sums.matches(10, bytes(10, 7)));
  CHECK(sums.matches(20, bytes(10, 7)));
  CHECK_FALSE(sums.matches(15, bytes(15, 7)));
  CHECK_FALSE(sums.matches(30, bytes(10, 7)));
  sums.set(0, bytes(100, 1));  // overlaps all of them
  CHECK(sums.matches(40, bytes(10, 7)));
  CHECK_FALSE(sums.matches(0, bytes(100, 7)));
}
