// What is written is known by exactly its range; overlaps are forgotten.
#include "engine/storage/checksums.h"

#include <doctest/doctest.h>

#include <vector>

using ds::Checksums;

namespace {

std::vector<std::byte> bytes(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

}  // namespace

TEST_CASE("a piece that was set matches itself and nothing else") {
  Checksums sums;
  sums.set(100, bytes(50, 1));
  CHECK(sums.matches(100, bytes(50, 1)));
  CHECK_FALSE(sums.matches(100, bytes(50, 2)));
  sums.set(100, bytes(50, 2));
  CHECK(sums.matches(100, bytes(50, 2)));
  CHECK_FALSE(sums.matches(100, bytes(50, 1)));
}

TEST_CASE("a range that was not set as such is not judged") {
  Checksums sums;
  sums.set(100, bytes(50, 1));
  CHECK(sums.matches(100, bytes(49, 2)));
  CHECK(sums.matches(101, bytes(49, 2)));
  sums.clear();
  CHECK(sums.matches(100, bytes(50, 2)));
}

TEST_CASE("what overlaps a new piece is forgotten, what only touches it is kept") {
  Checksums sums;
  for (const int at : {0, 10, 20, 30, 40}) sums.set(at, bytes(10, at));
  sums.set(15, bytes(15, 9));  // 15..29: over 10 and 20, up to 30
  CHECK_FALSE(sums.matches(0, bytes(10, 7)));
  CHECK(sums.matches(10, bytes(10, 7)));
  CHECK(sums.matches(20, bytes(10, 7)));
  CHECK_FALSE(sums.matches(15, bytes(15, 7)));
  CHECK_FALSE(sums.matches(30, bytes(10, 7)));
  sums.set(0, bytes(100, 1));  // over all of them
  CHECK(sums.matches(40, bytes(10, 7)));
  CHECK_FALSE(sums.matches(0, bytes(100, 7)));
}
