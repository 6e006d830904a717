// Tests of Stripes: ranges are cut into blocks and files without gaps or overlaps.
#include "engine/storage/stripes.h"

#include <doctest/doctest.h>

#include <vector>

using ds::StripePiece;
using ds::Stripes;

namespace {

struct Case {
  int files;
  std::int64_t block, bytes;
};

}  // namespace

TEST_CASE("the pieces of a range are adjacent, each within one block of its file") {
  const Stripes stripes{.files = 3, .block = 10};
  const std::int64_t offset = 17;
  const std::int64_t size = 36;  // 17..52: blocks 1..5
  REQUIRE(stripes.count(offset, size) == 5);
  const StripePiece expected[] = {{.file = 1, .file_offset = 7, .offset = 17, .size = 3},
                                  {.file = 2, .file_offset = 0, .offset = 20, .size = 10},
                                  {.file = 0, .file_offset = 10, .offset = 30, .size = 10},
                                  {.file = 1, .file_offset = 10, .offset = 40, .size = 10},
                                  {.file = 2, .file_offset = 10, .offset = 50, .size = 3}};
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    const StripePiece piece = stripes.piece(offset, size, i);
    CHECK(piece.file == expected[i].file);
    CHECK(piece.file_offset == expected[i].file_offset);
    CHECK(piece.offset == expected[i].offset);
    CHECK(piece.size == expected[i].size);
  }
  CHECK(stripes.count(offset, 0) == 0);
}

TEST_CASE("all pieces of all bytes fill every file exactly, each byte once") {
  for (const Case& c : {Case{1, 4, 23}, Case{2, 4, 23}, Case{3, 5, 60}, Case{3, 5, 61},
                        Case{4, 7, 3}, Case{4, 7, 0}, Case{5, 1, 17}}) {
    CAPTURE(c.files);
    CAPTURE(c.bytes);
    const Stripes stripes{.files = c.files, .block = c.block};
    std::vector<std::vector<int>> hits;
    for (int f = 0; f < c.files; ++f) {
      hits.emplace_back(static_cast<std::size_t>(stripes.bytes_of_file(c.bytes, f)));
    }
    for (std::int64_t i = 0; i < stripes.count(0, c.bytes); ++i) {
      const StripePiece piece = stripes.piece(0, c.bytes, i);
      for (std::int64_t at = 0; at < piece.size; ++at) {
        ++hits.at(static_cast<std::size_t>(piece.file))
              .at(static_cast<std::size_t>(piece.file_offset + at));
      }
    }
    for (const auto& file : hits) {
      for (const int times : file) CHECK(times == 1);
    }
  }
}
