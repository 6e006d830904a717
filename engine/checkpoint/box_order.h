// Where elements of boxes stand in the row-major order of their tensor. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/function_ref.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

using Extents = std::span<const std::int64_t>;

/// The product of extents that were checked (coverage.h).
std::int64_t box_elements(Extents extents);

/// Of a box's element, its number in the tensor. Grows with `element`.
std::int64_t element_in_tensor(Extents shape, const Box& box, std::int64_t element);

/// Elements that follow one another both in a piece and in the tensor.
struct Run {
  const Piece* piece = nullptr;
  std::int64_t in_piece = 0;  // the first, in the piece
  std::int64_t element = 0;   // the first, in the tensor
  std::int64_t elements = 0;
};

/// Elements [first, end) of a tensor.
struct ElementRange {
  std::int64_t first = 0, end = 0;
};

/// Calls `action` for all runs of `range` that pieces of `rank` have, piece after piece. `pieces`:
/// of one state, as a manifest has them: covering once, by rank, box offset and first.
void for_each_run(Extents shape, std::span<const Piece> pieces, int rank, ElementRange range,
                  FunctionRef<void(const Run&)> action);

/// "elements 5 to 24", and for a piece of a smaller box which one: "... of the box [0:4, 8:16]".
std::string described(Extents shape, const Piece& piece);

}  // namespace ds
