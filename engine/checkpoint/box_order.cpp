// Finds runs by binary search, because element_in_tensor() is increasing.
#include "engine/checkpoint/box_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace ds {
namespace {

/// Returns the number of a box's elements that are also contiguous in the tensor: the product of
/// the innermost axes that the box covers whole, and of one more axis.
std::int64_t run_length(Extents shape, const Box& box) {
  std::int64_t length = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    length *= box.extent[axis];
    if (box.extent[axis] != shape[axis]) break;
  }
  return length;
}

/// Returns the first element of `box` at or after `element` of the tensor; the box's number of
/// elements if there is none.
std::int64_t first_from(Extents shape, const Box& box, std::int64_t element) {
  std::int64_t low = 0, high = box_elements(box.extent);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (element_in_tensor(shape, box, middle) < element) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void runs_of_box(Extents shape, std::span<const Piece> pieces, BoxRange range,
                 FunctionRef<void(const Run&)> action) {
  const Box& box = pieces.front().box;
  const std::int64_t length = run_length(shape, box);
  const std::int64_t end = first_from(shape, box, range.end);
  std::int64_t next = first_from(shape, box, range.first);
  const auto ends_after = [](std::int64_t element, const Piece& piece) {
    return element < piece.first + piece.elements;
  };
  for (auto piece = std::upper_bound(pieces.begin(), pieces.end(), next, ends_after); next < end;
       ++piece) {
    const std::int64_t last = std::min(end, piece->first + piece->elements);
    while (next < last) {
      const std::int64_t elements = std::min(last - next, length - next % length);
      action({&*piece, next - piece->first, element_in_tensor(shape, box, next), elements});
      next += elements;
    }
  }
}

}  // namespace

std::int64_t box_elements(Extents extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t element_in_tensor(Extents shape, const Box& box, std::int64_t element) {
  std::int64_t index = 0, stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index += (box.offset[axis] + element % box.extent[axis]) * stride;
    element /= box.extent[axis];
    stride *= shape[axis];
  }
  return index;
}

void for_each_run(Extents shape, std::span<const Piece> pieces, int rank, BoxRange range,
                  FunctionRef<void(const Run&)> action) {
  auto begin = std::partition_point(pieces.begin(), pieces.end(),
                                    [&](const Piece& piece) { return piece.rank < rank; });
  const auto last = std::partition_point(begin, pieces.end(),
                                         [&](const Piece& piece) { return piece.rank == rank; });
  while (begin != last) {
    const Box& box = begin->box;
    // Binary search here too: a tensor has few boxes but many pieces in each.
    const auto end = std::partition_point(
        begin, last, [&](const Piece& piece) { return piece.box.offset == box.offset; });
    runs_of_box(shape, {begin, end}, range, action);
    begin = end;
  }
}

std::string described(Extents shape, const Piece& piece) {
  std::string text =
      fmt::format("elements {} to {}", piece.first, piece.first + piece.elements - 1);
  if (std::ranges::equal(piece.box.extent, shape)) return text;
  text += " of the box [";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    fmt::format_to(std::back_inserter(text), "{}{}:{}", axis == 0 ? "" : ", ",
                   piece.box.offset[axis], piece.box.offset[axis] + piece.box.extent[axis]);
  }
  return text + "]";
}

}  // namespace ds
