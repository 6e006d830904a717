// Tests of copies_text(): descriptions read back as written, and damaged ones are refused.
#include "engine/keep/copies_text.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "unit/keep/kept_copies.h"

using namespace ds;
using namespace ds::test;

namespace {

bool same_copy(const KeptCopy& a, const KeptCopy& b) {
  return a.node == b.node && a.file == b.file && a.share.run == b.share.run &&
         a.share.epoch == b.share.epoch && a.share.head == b.share.head &&
         a.share.part == b.share.part;
}

std::vector<KeptCopy> random_copies(Random& random, int node) {
  std::vector<KeptCopy> copies;
  for (std::int64_t left = below(random, 3); left > 0; --left)
    for (const KeptShare& share : kept_group(random_manifest(random()), left, 2, "a\nb").shares)
      if (below(random, 3) > 0) copies.push_back(copy_of(share, node));
  return copies;
}

}  // namespace

TEST_CASE("descriptions read back as written") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::vector<KeptCopy> copies = random_copies(random, 3);
    const std::vector<KeptCopy> read = parse_copies(copies_text(copies), 3);
    REQUIRE(read.size() == copies.size());
    for (std::size_t i = 0; i < read.size(); ++i) CHECK(same_copy(read[i], copies[i]));
  }
}

TEST_CASE("cut and changed descriptions are refused or read, and never crash") {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::string text = copies_text(random_copies(random, 0));
    if (below(random, 2) == 0) {
      text.resize(static_cast<std::size_t>(below(random, std::ssize(text))));
    } else {
      for (std::int64_t left = 1 + below(random, 4); left > 0; --left)
        text[static_cast<std::size_t>(below(random, std::ssize(text)))] =
            static_cast<char>(random());
    }
    try {
      parse_copies(text, 0);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::comm);
      ++refused;
    }
  }
  CHECK(refused > 250);
}
