// Attention's softmax over scores that are stored as panels.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

template <class Act>
struct Softmax {
  static DS_LANES_INLINE int64_t valid_columns(const cpu::SoftmaxRows& a, int64_t r) {
    const int64_t seen = a.first_valid + r * a.valid_step;
    const int64_t most = a.limit < a.columns ? a.limit : a.columns;
    return seen < most ? seen : most;
  }

  static void rows(const cpu::SoftmaxRows& a) {
    for (int64_t r = 0; r < a.rows; ++r) {
      const int64_t valid = valid_columns(a, r);
      float scale = a.scale;
      if (a.bias != nullptr) {
        for_panels(a, r, valid, [&](float* p, int64_t c, int n) {
          store(p, fma(load(p), broadcast(scale), load(a.bias - r + c, n)));
        });
        scale = 1;
      }
      F32 top = broadcast(-3.0e38F);
      for_panels(a, r, valid, [&](float* p, int64_t, int n) {
        top = max(top, n == 16 ? load(p) : Rows<Act>::select_first(load(p), top, n));
      });
      const float largest_score = largest(top);
      const F32 shift = broadcast(-largest_score * scale);
      F32 total = broadcast(0.0F);
      for_panels(a, r, valid, [&](float* p, int64_t, int n) {
        F32 e = exp(fma(load(p), broadcast(scale), shift));
        if (n < 16) e = Rows<Act>::select_first(e, broadcast(0.0F), n);
        store(p, e);
        total = total + e;
      });
      const float denominator = sum(total);
      const F32 inverse = broadcast(1.0F / denominator);
      Act* out = static_cast<Act*>(a.out) + r * a.columns;
      U32 words[4] = {};
      for_panels(a, r, a.columns, [&](float* p, int64_t c, int n) {
        F32 x = c < valid ? load(p) * inverse : broadcast(0.0F);
        if (a.dropout != nullptr && c < valid) {
          if (c % 64 == 0) {
            dropout_words(*a.dropout,
                          a.group + static_cast<std::uint64_t>(r * a.groups_per_row + c / 64),
                          words);
          }
          x = drop(*a.dropout, words[c / 16 % 4], x);
        }
        n == 16 ? store(out + c, x) : store(out + c, x, n);
      });
      const F32 lse = log(broadcast(denominator)) + broadcast(largest_score * scale);
      store(a.lse + r, valid > 0 ? lse : broadcast(0.0F), 1);
    }
  }

  /// Calls f(p, column, n) for each sixteen scores at p, of which n count.
  template <class Body>
  static DS_LANES_INLINE void for_panels(const cpu::SoftmaxRows& a, int64_t r, int64_t columns,
                                         Body body) {
    for (int64_t c = 0; c < columns; c += 16) {
      float* p = a.in + c / cpu::kPanel * a.in_stride + r * cpu::kPanel + c % cpu::kPanel;
      body(p, c, static_cast<int>(columns - c < 16 ? columns - c : 16));
    }
  }
};

}  // namespace ds::DS_LANES
