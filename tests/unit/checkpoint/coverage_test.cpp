// Tests of coverage: elements covered by no piece or by two, compared with a count of all elements.
#include "engine/checkpoint/coverage.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/checkpoint/manifest_text.h"
#include "unit/checkpoint/samples.h"

using namespace ds;
using namespace ds::test;

namespace {

using Counts = std::vector<int>;

/// Returns the number of pieces that contain each element of the tensor.
Counts counts_of(const std::vector<std::int64_t>& shape, const std::vector<Piece>& pieces) {
  Counts counts(static_cast<std::size_t>(*elements_of(shape)), 0);
  for (const Piece& piece : pieces) {
    for (std::int64_t i = piece.first; i < piece.first + piece.elements; ++i) {
      std::int64_t rest = i, index = 0, stride = 1;
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        index += (piece.box.offset[axis] + rest % piece.box.extent[axis]) * stride;
        rest /= piece.box.extent[axis];
        stride *= shape[axis];
      }
      ++counts[static_cast<std::size_t>(index)];
    }
  }
  return counts;
}

/// Returns each distinct box as one piece.
std::vector<Piece> boxes_of(const std::vector<Piece>& pieces) {
  std::vector<Piece> boxes;
  for (Piece piece : pieces) {
    piece.first = 0;
    piece.elements = elements_of_box(piece.box);
    if (std::ranges::find(boxes, piece.box, &Piece::box) == boxes.end()) boxes.push_back(piece);
  }
  return boxes;
}

/// Returns whether the element named by the answer is missing or covered twice, as the answer says.
bool is_true(const std::string& answer, const Counts& counts, const Counts& of_boxes) {
  if (answer.empty()) return std::ranges::all_of(counts, [](int count) { return count == 1; });
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (answer == fmt::format("element {} is in no piece", i)) return counts[i] == 0;
    if (answer == fmt::format("element {} is in two pieces", i)) return counts[i] > 1;
    if (answer == fmt::format("element {} is in two boxes", i)) return of_boxes[i] > 1;
  }
  return false;
}

}  // namespace

TEST_CASE("covered, missing and doubly covered elements agree with a count") {
  Random random(11);
  int whole = 0, broken = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::int64_t> shape;
    for (std::int64_t axes = below(random, 4); axes > 0; --axes) {
      shape.push_back(1 + below(random, 5));
    }
    const auto boxes = random_boxes(random, shape, below(random, 3));
    std::vector<Piece> pieces = random_pieces(random, boxes, 1 + below(random, 20));
    const auto any = [&] { return static_cast<std::size_t>(below(random, std::ssize(pieces))); };
    switch (below(random, 5)) {
      case 0:
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(any()));
        break;
      case 1:
        pieces.push_back(pieces[any()]);
        break;
      case 2: {
        Piece& piece = pieces[any()];
        piece.elements = 1 + below(random, elements_of_box(piece.box) - piece.first);
        break;
      }
      case 3: {  // a box that is shifted a little, or smaller
        Piece& piece = pieces[any()];
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          if (below(random, 2) == 0) continue;
          piece.box.offset[axis] = below(random, shape[axis]);
          piece.box.extent[axis] = 1 + below(random, shape[axis] - piece.box.offset[axis]);
        }
        piece.first = below(random, elements_of_box(piece.box));
        piece.elements = elements_of_box(piece.box) - piece.first;
        break;
      }
      default:
        break;
    }
    std::ranges::shuffle(pieces, random);
    const std::string answer = find_uncovered(shape, pieces);
    const Counts counts = counts_of(shape, pieces);
    const Counts of_boxes = counts_of(shape, boxes_of(pieces));
    REQUIRE_MESSAGE(is_true(answer, counts, of_boxes), "round " << round << ": '" << answer << "'");
    (answer.empty() ? whole : broken)++;
  }
  CHECK(whole > 500);
  CHECK(broken > 500);
}

TEST_CASE("blocks of tensor parallelism, each in flat ranges") {
  // 4 x 6, cut by columns over two ranks, with each block in two ranges.
  std::vector<Piece> pieces{{{{0, 0}, {4, 3}}, 0, 5, 0, 0, 0, -1},
                            {{{0, 0}, {4, 3}}, 5, 7, 0, 0, 0, -1},
                            {{{0, 3}, {4, 3}}, 0, 12, 0, 0, 0, -1}};
  CHECK(find_uncovered(std::vector<std::int64_t>{4, 6}, pieces).empty());
  pieces[1].first = 6;
  pieces[1].elements = 6;
  CHECK(find_uncovered(std::vector<std::int64_t>{4, 6}, pieces) == "element 8 is in no piece");
  pieces[1] = {{{0, 0}, {4, 3}}, 4, 8, 0, 0, 0, -1};
  CHECK(find_uncovered(std::vector<std::int64_t>{4, 6}, pieces) == "element 7 is in two pieces");
  pieces[1] = {{{0, 0}, {4, 3}}, 5, 7, 0, 0, 0, -1};
  pieces[2].box = {{0, 4}, {4, 2}};
  pieces[2].elements = 8;
  CHECK(find_uncovered(std::vector<std::int64_t>{4, 6}, pieces) == "element 3 is in no piece");
  pieces[2].box = {{0, 2}, {4, 4}};
  pieces[2].elements = 16;
  CHECK(find_uncovered(std::vector<std::int64_t>{4, 6}, pieces) == "element 2 is in two boxes");
}

TEST_CASE("per rank: the pieces of each rank cover its tensor") {
  TensorEntry tensor{"t", {4}, {{"error", DType::f32, StateClass::per_rank, {}}}};
  StateEntry& state = tensor.states[0];
  CHECK(uncovered(tensor, state).empty());
  state.pieces = {{{{0}, {4}}, 0, 4, 0, 0, 0, 2}, {{{0}, {4}}, 0, 3, 0, 0, 0, 5}};
  CHECK(uncovered(tensor, state) == "of rank 5: element 3 is in no piece");
  state.held = StateClass::sharded;
  CHECK(uncovered(tensor, state) == "element 0 is in two pieces");
}

TEST_CASE("extents whose product overflows are refused") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  CHECK(elements_of(std::vector<std::int64_t>{}) == 1);
  CHECK(elements_of(std::vector<std::int64_t>{kLarge, 1 << 28}) == kLarge << 28);
  CHECK_FALSE(elements_of(std::vector<std::int64_t>{kLarge, kLarge}));
  CHECK_FALSE(elements_of(std::vector<std::int64_t>{kLarge, kLarge, kLarge, kLarge}));
  CHECK_FALSE(elements_of(std::vector<std::int64_t>{3, 0}));
  CHECK_FALSE(elements_of(std::vector<std::int64_t>{-1, -1}));
}

TEST_CASE("the maximum number of boxes, side by side") {
  std::vector<Piece> pieces;
  const auto count = static_cast<std::int64_t>(kMaxBoxes);
  for (std::int64_t i = 0; i < count; ++i) pieces.push_back({{{0, i}, {3, 1}}, 0, 3, 0, 0, 0, -1});
  const std::vector<std::int64_t> shape{3, count};
  CHECK(find_uncovered(shape, pieces).empty());
  pieces.erase(pieces.begin() + 4000);
  CHECK(find_uncovered(shape, pieces) == "element 4000 is in no piece");
}

TEST_CASE("more than the maximum number of boxes are refused") {
  std::vector<Piece> pieces;
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(kMaxBoxes); ++i) {
    pieces.push_back({{{i}, {1}}, 0, 1, 0, 0, 0, -1});
  }
  const std::vector<std::int64_t> shape{std::ssize(pieces)};
  CHECK(find_uncovered(shape, pieces) == "the state has more than 4096 boxes");
}
