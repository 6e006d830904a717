// Packs operands of products into the layouts that oneDNN reads without a copy of its own.
#pragma once

#include "engine/kernels/cpu/simd/softmax.h"

namespace ds::DS_LANES {

/// A lane of a panel is one f32 element or, in a bf16 panel, a pair (k, k + 1): "16a64b2a".
template <class From, class To>
struct Packer {
  static constexpr bool kPairs = sizeof(To) == 2;
  static constexpr int64_t kStep = kPairs ? 2 : 1;  // values of k in a lane
  static constexpr int64_t kMultiple = kPairs ? 32 : 16;

  /// Loads sixteen columns of row k (and k + 1), of which `count` exist.
  static DS_LANES_INLINE U32 columns(const From* from, int64_t stride, bool second, int count) {
    if constexpr (kPairs) {
      const U32 low = count == 16 ? load_words(from) : load_words(from, count);
      if (!second) return low;
      const U32 high = count == 16 ? load_words(from + stride) : load_words(from + stride, count);
      return low | shift_left<16>(high);
    } else {
      (void)stride, (void)second;
      return bits_of(count == 16 ? load(from) : load(from, count));
    }
  }
  /// Loads sixteen lanes along k of one row, of which `count` values of k exist.
  static DS_LANES_INLINE U32 along_k(const From* from, int64_t count) {
    if constexpr (kPairs) {
      if (count >= 32) return load(reinterpret_cast<const std::uint32_t*>(from));
      std::uint16_t words[32] = {};
      for (int64_t i = 0; i < count; ++i) words[i] = from[i];
      return load(reinterpret_cast<const std::uint32_t*>(words));
    } else {
      return bits_of(count >= 16 ? load(from) : load(from, static_cast<int>(count)));
    }
  }
  /// Writes the first `count` values of k of sixteen lanes along k.
  static DS_LANES_INLINE void put_along_k(To* to, U32 lanes, int64_t count) {
    if (count >= 16 * kStep) {
      store(reinterpret_cast<std::uint32_t*>(to), lanes);
      return;
    }
    std::uint32_t words[16];
    store(words, lanes);
    const To* values = reinterpret_cast<const To*>(words);
    for (int64_t i = 0; i < count; ++i) to[i] = values[i];
  }

  static void panel(const void* from_, int64_t stride, int64_t k, int64_t n, void* to_) {
    const auto* from = static_cast<const From*>(from_);
    auto* to = static_cast<std::uint32_t*>(to_);
    const int64_t padded = (k + kMultiple - 1) / kMultiple * kMultiple;
    for (int64_t row = 0; row < padded; row += kStep, to += cpu::kPanel) {
      for (int64_t c = 0; c < cpu::kPanel; c += 16) {
        const int64_t left = n - c;
        const bool empty = row >= k || left <= 0;
        store(to + c, empty ? broadcast(0U)
                            : columns(from + row * stride + c, stride, row + 1 < k,
                                      static_cast<int>(left < 16 ? left : 16)));
      }
    }
  }

  static void panel_of_transposed(const void* from_, int64_t stride, int64_t k, int64_t n,
                                  void* to_) {
    const auto* from = static_cast<const From*>(from_);
    auto* to = static_cast<std::uint32_t*>(to_);
    const int64_t padded = (k + kMultiple - 1) / kMultiple * kMultiple;
    for (int64_t c = 0; c < cpu::kPanel; c += 16) {
      for (int64_t row = 0; row < padded; row += 16 * kStep) {
        U32 square[16];
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t left = c + i < n ? k - row : 0;
          square[i] = left <= 0 ? broadcast(0U) : along_k(from + (c + i) * stride + row, left);
        }
        transpose(square);
        for (int64_t i = 0; i < 16; ++i) store(to + (row / kStep + i) * cpu::kPanel + c, square[i]);
      }
    }
  }

  /// Transposes in blocks of k that stay in cache; within a block each output row is written in one
  /// run. Row by row of the input would be half as fast: sixteen or more output streams a power of
  /// two apart compete for the same cache sets.
  static void transpose_operand(const void* from, int64_t stride, int64_t m, int64_t k, void* to,
                                int64_t to_stride) {
    constexpr int64_t kBlock = 256;
    for (int64_t block = 0; block < k; block += kBlock) {
      const int64_t end = block + kBlock < k ? block + kBlock : k;
      for (int64_t c = 0; c < m; c += 16) {
        for (int64_t row = block; row < end; row += 16 * kStep) {
          transpose_square(static_cast<const From*>(from) + c, stride, m - c, row, k,
                           static_cast<To*>(to) + c * to_stride, to_stride);
        }
      }
    }
  }

  static DS_LANES_INLINE void transpose_square(const From* from, int64_t stride,
                                               int64_t columns_left, int64_t row, int64_t k, To* to,
                                               int64_t to_stride) {
    const int count = static_cast<int>(columns_left < 16 ? columns_left : 16);
    U32 square[16];
    for (int64_t i = 0; i < 16; ++i) {
      const int64_t at = row + i * kStep;
      square[i] = at >= k ? broadcast(0U) : columns(from + at * stride, stride, at + 1 < k, count);
    }
    transpose(square);
    for (int i = 0; i < count; ++i) put_along_k(to + i * to_stride + row, square[i], k - row);
  }

  static void copy(const void* from_, int64_t stride, int64_t m, int64_t k, void* to_,
                   int64_t to_stride) {
    for (int64_t r = 0; r < m; ++r) {
      const From* from = static_cast<const From*>(from_) + r * stride;
      To* to = static_cast<To*>(to_) + r * to_stride;
      for_lanes(
          k, [&](int64_t c) { store(to + c, load(from + c)); },
          [&](int64_t c, int n) { store(to + c, load(from + c, n), n); });
    }
  }

  static void softmax_backward(const cpu::AttentionTile& tile, const cpu::SoftmaxGradient& a) {
    const int64_t padded = (tile.rows + kMultiple - 1) / kMultiple * kMultiple;
    auto* p_panel = static_cast<std::uint32_t*>(a.p_panel);
    auto* ds_panel = static_cast<std::uint32_t*>(a.ds_panel);
    for (int64_t r = 0; r < padded; r += kStep, p_panel += cpu::kPanel, ds_panel += cpu::kPanel) {
      U32 words[kStep][4] = {};
      for (int64_t i = 0; i < kStep; ++i) dropout_words(tile, r + i, words[i]);
      for (int64_t c = 0; c < cpu::kPanel; c += 16) {
        F32 p[kStep], ds[kStep];
        for (int64_t i = 0; i < kStep; ++i) {
          p[i] = ds[i] = broadcast(0.0F);
          if (r + i >= tile.rows || c >= tile.columns) continue;
          softmax_gradient(tile, a, r + i, c, words[i][c / 16], p[i], ds[i]);
        }
        store(p_panel + c, lane_of(p));
        store(ds_panel + c, lane_of(ds));
      }
    }
  }

  /// Returns lanes of a panel: one value of k, or two.
  static DS_LANES_INLINE U32 lane_of(const F32 (&x)[kStep]) {
    if constexpr (kPairs) {
      return round_to_bf16(x[0]) | shift_left<16>(round_to_bf16(x[1]));
    } else {
      return bits_of(x[0]);
    }
  }

  /// Computes p and ds of sixteen columns of row r, and stores ds as a row.
  static DS_LANES_INLINE void softmax_gradient(const cpu::AttentionTile& tile,
                                               const cpu::SoftmaxGradient& a, int64_t r, int64_t c,
                                               U32 words, F32& p, F32& ds) {
    const SeenColumns seen = seen_columns(tile, r);
    const int n = lanes_at(tile.columns, c);
    F32 all = exp(logits_at(tile, r, c, broadcast(0.0F) - broadcast(a.lse[r])));
    if (!seen.all(c)) all = Softmax<To>::hide(all, broadcast(0.0F), seen, c);
    F32 dp = load(a.dp + r * cpu::kPanel + c);
    p = all;
    if (tile.dropout != nullptr) {
      const F32 factor = drop(*tile.dropout, words, broadcast(1.0F));
      dp = dp * factor;
      p = all * factor;
    }
    const F32 change = all * (dp - broadcast(a.delta[r]));
    if (a.dbias != nullptr) {
      float* to = a.dbias - r + c;
      store(to, load(to, n) + change, n);
    }
    ds = change * broadcast(tile.scale);
    To* row = static_cast<To*>(a.ds) + r * tile.stride + c;
    n == 16 ? store(row, ds) : store(row, ds, n);
  }

  static constexpr cpu::PackKernels table() {
    return {.element_bytes = sizeof(To),
            .k_multiple = kMultiple,
            .panel = panel,
            .panel_of_transposed = panel_of_transposed,
            .transpose = transpose_operand,
            .copy = copy,
            .softmax = Softmax<To>::rows,
            .softmax_backward = softmax_backward};
  }
};

}  // namespace ds::DS_LANES
