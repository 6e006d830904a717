// Maps elements of boxes to their place in the row-major order of the tensor. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/function_ref.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

using Extents = std::span<const std::int64_t>;

/// Returns the product of extents that were checked (coverage.h).
std::int64_t box_elements(Extents extents);

/// Returns the index in the tensor of the box's element `element`. Increasing in `element`.
std::int64_t element_in_tensor(Extents shape, const Box& box, std::int64_t element);

/// Elements that are contiguous both in a piece and in the tensor.
struct Run {
  const Piece* piece = nullptr;
  std::int64_t in_piece = 0;  // first element, in the piece
  std::int64_t element = 0;   // first element, in the tensor
  std::int64_t elements = 0;
};

/// Elements [first, end) of a tensor.
struct BoxRange {
  std::int64_t first = 0, end = 0;
};

/// Calls `action` for all runs of `range` in pieces of `rank`, in the order of the pieces. `pieces`
/// belong to one state and are in a manifest's form: covering once, by rank, box offset and first.
void for_each_run(Extents shape, std::span<const Piece> pieces, int rank, BoxRange range,
                  FunctionRef<void(const Run&)> action);

/// Returns "elements 5 to 24", and for a smaller box than the tensor "... of the box [0:4, 8:16]".
std::string described(Extents shape, const Piece& piece);

}  // namespace ds
