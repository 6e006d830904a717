// Attention's softmax over tiles of scores, one panel of keys at a time, and its gradient.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

/// Columns [first, last) of a tile that a row sees.
struct SeenColumns {
  int64_t first, last;
  /// Returns whether the row sees all of the sixteen columns from c on.
  [[nodiscard]] DS_LANES_INLINE bool all(int64_t c) const { return first <= c && last >= c + 16; }
};
DS_LANES_INLINE SeenColumns seen_columns(const cpu::AttentionTile& a, int64_t r) {
  const int64_t first = a.seen[r].first - a.key, last = a.seen[r].last - a.key;
  return {first < 0 ? 0 : first, last < 0 ? 0 : last};
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
  /// Replaces the lanes of columns [c, c + 16) that a row does not see.
  static DS_LANES_INLINE F32 hide(F32 x, F32 hidden, const SeenColumns& seen, int64_t c) {
    x = Rows<To>::select_first(x, hidden, lanes_at(seen.last, c));
    return seen.first <= c ? x : Rows<To>::select_first(hidden, x, lanes_at(seen.first, c));
  }

  static void rows(const cpu::AttentionTile& a, void* p, const cpu::RunningSoftmax& state) {
    for (int64_t r = 0; r < a.rows; ++r) {
      row(a, r, static_cast<To*>(p) + r * a.stride, state.top + r, state.total + r,
          state.rescale + r);
    }
  }

  static DS_LANES_INLINE void row(const cpu::AttentionTile& a, int64_t r, To* p, float* top,
                                  float* total, float* rescale) {
    const SeenColumns seen = seen_columns(a, r);
    F32 x[4], highest = broadcast(*top);
    for (int64_t i = 0; i < 4; ++i) {
      x[i] = logits_at(a, r, 16 * i, broadcast(0.0F));
      if (!seen.all(16 * i)) x[i] = hide(x[i], broadcast(cpu::kLowestLogit), seen, 16 * i);
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
      if (!seen.all(16 * i)) e = hide(e, broadcast(0.0F), seen, 16 * i);
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
