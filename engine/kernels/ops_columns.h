// Column ops: a part of a matrix's columns is added to or taken (adapters). Letters as in
// kernels.h.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// out = in, plus scale * delta in the columns of each part: delta (rows, n) covers columns
/// [first, first + n). Parts do not overlap.
/// Shapes: in, out (rows, N) act; with `heads` as Linear's heads, where N = (H + 2G) * D and
/// columns count as in (rows, N). delta act; a missing delta is no part.   Order: out may share
/// in's memory.
struct AddColumns {
  struct Part {
    ConstTensor delta{};
    std::int64_t first = 0;
  };
  ConstTensor in;
  std::array<Part, 3> parts{};
  Tensor out;
  float scale = 1;
  bool heads = false;
  std::int64_t kv_heads = 0;  // G, with heads; 0: G = H
};

/// out = scale * in[:, first : first + n].   Shapes: in (rows, N), out (rows, n) act.
struct TakeColumns {
  ConstTensor in;
  Tensor out;
  std::int64_t first = 0;
  float scale = 1;
};

}  // namespace ds
