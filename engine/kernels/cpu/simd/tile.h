// Epilogues that turn tiles of products into outputs: bias, rounding, activations, sums.
#pragma once

#include "engine/kernels/cpu/simd/activations.h"
#include "engine/kernels/cpu/vector_kernels.h"

namespace ds::DS_LANES {

using std::int64_t;

/// Calls full(i) for every whole group of sixteen and rest(i, count) for the remainder.
template <class Full, class Rest>
DS_LANES_INLINE void for_lanes(int64_t n, Full full, Rest rest) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) full(i);
  if (i < n) rest(i, static_cast<int>(n - i));
}

template <class Act, class Function>
void store_tile_with(const float* tile, int64_t rows, int64_t columns, const cpu::TileOutput& to) {
  const auto* bias = static_cast<const Act*>(to.bias);
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = tile + r * cpu::kPanel;
    Act* out = static_cast<Act*>(to.out) + r * to.stride;
    Act* pre = to.pre == nullptr ? nullptr : static_cast<Act*>(to.pre) + r * to.stride;
    const Act* slope_of =
        to.slope_of == nullptr ? nullptr : static_cast<const Act*>(to.slope_of) + r * to.stride;
    for_lanes(
        columns,
        [&](int64_t c) {
          F32 x = load(in + c);
          if (bias != nullptr) x = x + load(bias + c);
          if (pre != nullptr) {
            store(pre + c, x);
            x = Function::value(rounded_as(pre, x));
          }
          if (slope_of != nullptr) x = x * Function::slope(load(slope_of + c));
          store(out + c, x);
        },
        [&](int64_t c, int n) {
          F32 x = load(in + c, n);
          if (bias != nullptr) x = x + load(bias + c, n);
          if (pre != nullptr) {
            store(pre + c, x, n);
            x = Function::value(rounded_as(pre, x));
          }
          if (slope_of != nullptr) x = x * Function::slope(load(slope_of + c, n));
          store(out + c, x, n);
        });
  }
}

template <class Act>
void store_tile(const float* tile, int64_t rows, int64_t columns, const cpu::TileOutput& to) {
  with_activation(to.activation, [&](auto function) {
    store_tile_with<Act, decltype(function)>(tile, rows, columns, to);
  });
}

template <class Act>
void store_transposed(const float* tile, int64_t rows, int64_t columns, void* out_,
                      int64_t stride) {
  auto* out = static_cast<Act*>(out_);
  for (int64_t r = 0; r < rows; r += 16) {
    const int n = static_cast<int>(rows - r < 16 ? rows - r : 16);
    for (int64_t c = 0; c < columns; c += 16) {
      U32 square[16];
      for (int64_t i = 0; i < 16; ++i) {
        square[i] = i < n ? bits_of(load(tile + (r + i) * cpu::kPanel + c)) : broadcast(0U);
      }
      transpose(square);
      for (int64_t i = 0; i < 16 && c + i < columns; ++i) {
        Act* to = out + (c + i) * stride + r;
        n == 16 ? store(to, from_bits(square[i])) : store(to, from_bits(square[i]), n);
      }
    }
  }
}

inline void add_tile(const float* tile, int64_t rows, int64_t columns, float* out, int64_t stride,
                     bool accumulate) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* in = tile + r * cpu::kPanel;
    float* to = out + r * stride;
    for_lanes(
        columns,
        [&](int64_t c) { store(to + c, accumulate ? load(to + c) + load(in + c) : load(in + c)); },
        [&](int64_t c, int n) {
          store(to + c, accumulate ? load(to + c, n) + load(in + c, n) : load(in + c, n), n);
        });
  }
}

}  // namespace ds::DS_LANES
