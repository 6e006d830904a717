// LeafDigest: independent of order and division, and sensitive to content and place.
#include "engine/states/leaf_digest.h"

#include <doctest/doctest.h>

#include <vector>

using namespace ds;  // NOLINT: the tests of one file

TEST_CASE("a digest of leaves: any division, every place") {
  std::vector<float> weights(4096);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  const auto leaf = [&](std::uint64_t i) { return std::span(weights).subspan(i * 1024, 1024); };
  LeafDigest whole, left, right, swapped;
  for (std::uint64_t i = 0; i < 4; ++i) whole.add(i, leaf(i));
  right.add(3, leaf(3));
  right.add(1, leaf(1));
  left.add(2, leaf(2));
  left.add(0, leaf(0));
  left.add(right);
  CHECK(left.text() == whole.text());
  CHECK(whole.text().size() == 32);
  for (std::uint64_t i = 0; i < 4; ++i) swapped.add(i, leaf(3 - i));
  CHECK(swapped.text() != whole.text());
  weights[2000] = -1;
  LeafDigest changed;
  for (std::uint64_t i = 0; i < 4; ++i) changed.add(i, leaf(i));
  CHECK(changed.text() != whole.text());
}
