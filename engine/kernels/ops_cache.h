// Op of decoding: stores the keys and values of a step beside those of the steps before it. Letters
// as in kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// Copies the keys and values of row r = b * T + t to position slots[r] of sequence b in the cache,
/// and the queries to a tensor of their own, as Attention reads them beside `kv`. Rows with a
/// negative slot are padding: nothing is stored. Two rows of a sequence must not have one slot.
/// Shapes: qkv as Linear's heads of T positions, act; slots (B*T) i32, below S; queries as Linear's
/// heads of H queries alone, (1, B, H, T, D) act; cache as those of keys and values alone, (1, B,
/// 2G, S, D) act, of which only the named positions are written.
struct CacheKeys {
  ConstTensor qkv, slots;
  Tensor queries, cache;
  std::int64_t kv_heads = 0;  // G; 0: G = H
};

}  // namespace ds
