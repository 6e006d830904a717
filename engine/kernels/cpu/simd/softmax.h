// Attention's softmax over tiles of scores, one panel of keys at a time, and its gradient.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

/// Returns how many columns of a tile row r sees, at most `columns`.
DS_LANES_INLINE int64_t seen_columns(const cpu::AttentionTile& a, int64_t r) {
  const int64_t seen = r + a.diagonal + 1 < a.keys ? r + a.diagonal + 1 : a.keys;
  return seen < 0 ? 0 : seen;
}
DS_LANES_INLINE int lanes_at(int64_t columns, int64_t c) {
  return static_cast<int>(columns <= c ? 0 : columns - c < 16 ? columns - c : 16);
}
/// Returns sixteen logits of row r. Those that the row does not see have any value.
DS_LANES_INLINE F32 logits_at(const cpu::AttentionTile& a, int64_t r, int64_t c, F32 shift) {
  if (a.bias != nullptr) shift = shift + load(a.bias - r + c, lanes_at(a.columns, c));
  return fma(load(a.scores + r * cpu::kPanel + c), broadcast(a.scale), shift);
}
DS_LANES_INLINE void dropout_words(const cpu::AttentionTile& a, int64_t r, U32 (&words)[4]) {
  if (a.dropout == nullptr) return;
  dropout_words(*a.dropout, a.group + static_cast<std::uint64_t>(r * a.groups_per_row), words);
}

template <class To>
struct Softmax {
  static void rows(const cpu::AttentionTile& a, void* p, const cpu::RunningSoftmax& state) {
    for (int64_t r = 0; r < a.rows; ++r) {
      row(a, r, static_cast<To*>(p) + r * a.stride, state.top + r, state.total + r,
          state.rescale + r);
    }
  }

  static DS_LANES_INLINE void row(const cpu::AttentionTile& a, int64_t r, To* p, float* top,
                                  float* total, float* rescale) {
    const int64_t seen = seen_columns(a, r);
    F32 x[4], highest = broadcast(*top);
    for (int64_t i = 0; i < 4; ++i) {
      x[i] = logits_at(a, r, 16 * i, broadcast(0.0F));
      if (seen < 16 * i + 16) {
        x[i] = Rows<To>::select_first(x[i], broadcast(cpu::kLowestLogit), lanes_at(seen, 16 * i));
      }
      highest = max(highest, x[i]);
    }
    const float now = largest(highest);
    *rescale = 1;
    if (now != *top) {
      float factor[16];
      store(factor, exp(broadcast(*top) - broadcast(now)));
      *rescale = factor[0];
      *top = now;
    }
    U32 words[4] = {};
    dropout_words(a, r, words);
    F32 sums = broadcast(0.0F);
    for (int64_t i = 0; i < 4; ++i) {
      F32 e = exp(x[i] - broadcast(now));
      if (seen < 16 * i + 16) {
        e = Rows<To>::select_first(e, broadcast(0.0F), lanes_at(seen, 16 * i));
      }
      sums = sums + e;
      if (a.dropout != nullptr) e = drop(*a.dropout, words[i], e);
      const int n = lanes_at(a.columns, 16 * i);
      n == 16 ? store(p + 16 * i, e) : store(p + 16 * i, e, n);
    }
    *total = *total * *rescale + sum(sums);
  }
};

inline void scale_rows(float* tile, int64_t rows, const float* factors) {
  for (int64_t r = 0; r < rows; ++r, tile += cpu::kPanel) {
    if (factors[r] == 1.0F) continue;
    for (int64_t c = 0; c < cpu::kPanel; c += 16) {
      store(tile + c, load(tile + c) * broadcast(factors[r]));
    }
  }
}

inline void end_softmax(const cpu::RunningSoftmax& rows, int64_t count, float* lse,
                        float* inverse) {
  const F32 zero = broadcast(0.0F);
  for (int64_t r = 0; r < count; r += 16) {
    const int n = lanes_at(count, r);
    const F32 total = load(rows.total + r, n);
    const F32 seen = select_less(zero, total, total, broadcast(1.0F));
    store(lse + r, select_less(zero, total, log(seen) + load(rows.top + r, n), zero), n);
    store(inverse + r, select_less(zero, total, broadcast(1.0F) / seen, zero), n);
  }
}

}  // namespace ds::DS_LANES
