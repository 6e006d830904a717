// Vector loops over rows of activations: layer norm, embedding, activations, sums, logits.
#pragma once

#include "engine/kernels/cpu/simd/random.h"

namespace ds::DS_LANES {

/// Calls f(i, load, store) for each group: `load(p)` and `store(p, x)` access sixteen elements at
/// p + i, or the rest of n.
template <class Body>
DS_LANES_INLINE void each(int64_t n, Body body) {
  for_lanes(
      n,
      [&](int64_t i) {
        body([&](const auto* p) { return load(p + i); }, [&](auto* p, F32 x) { store(p + i, x); });
      },
      [&](int64_t i, int count) {
        body([&](const auto* p) { return load(p + i, count); },
             [&](auto* p, F32 x) { store(p + i, x, count); });
      });
}

template <class Act>
struct Rows {
  static void embed_row(const void* token, const void* position, void* out, int64_t n) {
    each(n, [&](auto get, auto put) {
      put(static_cast<Act*>(out),
          get(static_cast<const Act*>(token)) + get(static_cast<const Act*>(position)));
    });
  }

  static void add(const void* a, const void* b, void* out, int64_t n) { embed_row(a, b, out, n); }

  static void add_to(float* total, const void* in, int64_t n) {
    each(n, [&](auto get, auto put) { put(total, get(total) + get(static_cast<const Act*>(in))); });
  }

  static void activate(Activation activation, const void* in, void* out, int64_t n) {
    with_activation(activation, [&](auto function) {
      each(n, [&](auto get, auto put) {
        put(static_cast<Act*>(out), function.value(get(static_cast<const Act*>(in))));
      });
    });
  }

  static void activate_backward(Activation activation, const void* pre, const void* dout, void* din,
                                int64_t n) {
    with_activation(activation, [&](auto function) {
      each(n, [&](auto get, auto put) {
        put(static_cast<Act*>(din),
            get(static_cast<const Act*>(dout)) * function.slope(get(static_cast<const Act*>(pre))));
      });
    });
  }

  static void add_column_sums(const void* in, int64_t stride, int64_t rows, int64_t columns,
                              float* total) {
    for (int64_t c = 0; c < columns; c += 16) {
      const int count = static_cast<int>(columns - c < 16 ? columns - c : 16);
      F32 sums = count == 16 ? load(total + c) : load(total + c, count);
      for (int64_t block = 0; block < rows; block += 64) {
        const int64_t end = block + 64 < rows ? block + 64 : rows;
        F32 part = broadcast(0.0F);
        const Act* p = static_cast<const Act*>(in) + block * stride + c;
        for (int64_t r = block; r < end; ++r, p += stride) {
          part = part + (count == 16 ? load(p) : load(p, count));
        }
        sums = sums + part;
      }
      store(total + c, sums, count);
    }
  }

  static void layer_norm(const cpu::LayerNormRows& a, int64_t row, int64_t rows) {
    const int64_t n = a.width;
    for (int64_t r = row; r < row + rows; ++r) {
      const Act* x = static_cast<const Act*>(a.in) + r * n;
      if (a.delta != nullptr) {
        Act* sum_row = static_cast<Act*>(a.sum) + r * n;
        const Act* delta = static_cast<const Act*>(a.delta) + r * n;
        each(n, [&](auto get, auto put) { put(sum_row, get(x) + get(delta)); });
        x = sum_row;
      }
      F32 total = broadcast(0.0F);
      each(n, [&](auto get, auto) { total = total + get(x); });
      const float mean = sum(total) / static_cast<float>(n);
      const float variance = squared_distance(x, mean, n) / static_cast<float>(n);
      const float rstd = 1.0F / __builtin_sqrtf(variance + a.eps);
      Act* out = static_cast<Act*>(a.out) + r * n;
      each(n, [&](auto get, auto put) {
        const F32 normal = (get(x) - broadcast(mean)) * broadcast(rstd);
        put(out, fma(normal, get(static_cast<const Act*>(a.weight)),
                     get(static_cast<const Act*>(a.bias))));
      });
      a.mean[r] = mean;
      a.rstd[r] = rstd;
    }
  }

  static DS_LANES_INLINE float squared_distance(const Act* x, float mean, int64_t n) {
    F32 total = broadcast(0.0F);
    for_lanes(
        n,
        [&](int64_t i) {
          const F32 d = load(x + i) - broadcast(mean);
          total = fma(d, d, total);
        },
        [&](int64_t i, int count) {  // absent lanes must count as the mean, not as zero
          alignas(64) float d[16] = {};
          store(d, load(x + i, count) - broadcast(mean), count);
          total = fma(load(d), load(d), total);
        });
    return sum(total);
  }

  static void layer_norm_backward(const cpu::LayerNormBackwardRows& a, int64_t row, int64_t rows) {
    const int64_t n = a.width;
    each(n, [&](auto, auto put) {
      put(a.dweight, broadcast(0.0F));
      put(a.dbias, broadcast(0.0F));
    });
    const auto* weight = static_cast<const Act*>(a.weight);
    for (int64_t r = row; r < row + rows; ++r) {
      const Act* dout = static_cast<const Act*>(a.dout) + r * n;
      const Act* in = static_cast<const Act*>(a.in) + r * n;
      const F32 mean = broadcast(a.mean[r]), rstd = broadcast(a.rstd[r]);
      F32 plain = broadcast(0.0F), weighted = broadcast(0.0F);
      each(n, [&](auto get, auto put) {
        const F32 dy = get(dout);
        const F32 normal = (get(in) - mean) * rstd;
        const F32 g = dy * get(weight);
        plain = plain + g;
        // A lane beyond the row has g = 0, so its `normal` does not matter.
        weighted = fma(g, normal, weighted);
        put(a.dweight, fma(dy, normal, get(static_cast<const float*>(a.dweight))));
        put(a.dbias, dy + get(static_cast<const float*>(a.dbias)));
      });
      const F32 mean_plain = broadcast(sum(plain) / static_cast<float>(n));
      const F32 mean_weighted = broadcast(sum(weighted) / static_cast<float>(n));
      Act* din = static_cast<Act*>(a.din) + r * n;
      const Act* residual =
          a.dresidual == nullptr ? nullptr : static_cast<const Act*>(a.dresidual) + r * n;
      each(n, [&](auto get, auto put) {
        const F32 normal = (get(in) - mean) * rstd;
        F32 d = (get(dout) * get(weight) - mean_plain - normal * mean_weighted) * rstd;
        if (residual != nullptr) d = d + get(residual);
        put(din, d);
      });
    }
  }

  /// Returns the first n lanes of a and the rest of b.
  static DS_LANES_INLINE F32 select_first(F32 a, F32 b, int n) {
    alignas(64) static constexpr float kIndex[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                     8, 9, 10, 11, 12, 13, 14, 15};
    return select_less(load(kIndex), broadcast(static_cast<float>(n)), a, b);
  }

  static void add_products(const float* factors, int64_t count, const void* in, int64_t stride,
                           int64_t n, float* total) {
    const Act* p = static_cast<const Act*>(in);
    for (; count >= 4; count -= 4, factors += 4, p += 4 * stride) {
      const F32 f0 = broadcast(factors[0]), f1 = broadcast(factors[1]), f2 = broadcast(factors[2]),
                f3 = broadcast(factors[3]);
      each(n, [&](auto get, auto put) {
        F32 sum = fma(f0, get(p), get(static_cast<const float*>(total)));
        sum = fma(f1, get(p + stride), sum);
        sum = fma(f2, get(p + 2 * stride), sum);
        put(total, fma(f3, get(p + 3 * stride), sum));
      });
    }
    for (; count > 0; --count, ++factors, p += stride) {
      const F32 factor = broadcast(factors[0]);
      each(n, [&](auto get, auto put) {
        put(total, fma(factor, get(p), get(static_cast<const float*>(total))));
      });
    }
  }

  static float dot(const void* a, const void* b, int64_t n) {
    F32 total = broadcast(0.0F);
    each(n, [&](auto get, auto) {
      total = fma(get(static_cast<const Act*>(a)), get(static_cast<const Act*>(b)), total);
    });
    return sum(total);
  }

  static void logits_row(const void* logits_, int64_t stride, int64_t width, int64_t n,
                         float* largest_logit, float* denominator) {
    const auto* logits = static_cast<const Act*>(logits_);
    F32 top = broadcast(-3.0e38F);
    for (int64_t at = 0; at < n; at += width, logits += stride) {
      for_lanes(
          n - at < width ? n - at : width, [&](int64_t i) { top = max(top, load(logits + i)); },
          [&](int64_t i, int count) {
            top = max(top, select_first(load(logits + i, count), top, count));
          });
    }
    *largest_logit = largest(top);
    const F32 shift = broadcast(*largest_logit);
    F32 total = broadcast(0.0F);
    logits = static_cast<const Act*>(logits_);
    for (int64_t at = 0; at < n; at += width, logits += stride) {
      for_lanes(
          n - at < width ? n - at : width,
          [&](int64_t i) { total = total + exp(load(logits + i) - shift); },
          [&](int64_t i, int count) {
            total =
                total + select_first(exp(load(logits + i, count) - shift), broadcast(0.0F), count);
          });
    }
    *denominator = sum(total);
  }

  static void logits_gradient(void* logits, int64_t n, float lse, float scale) {
    each(n, [&](auto get, auto put) {
      Act* p = static_cast<Act*>(logits);
      put(p, exp(get(static_cast<const Act*>(p)) - broadcast(lse)) * broadcast(scale));
    });
  }

  /// Processes elements [first, first + n) of one sample; first is a multiple of 64.
  static void dropout(const cpu::DropoutKey& key, int64_t first, const void* in, void* out,
                      int64_t n) {
    U32 words[4] = {};
    int64_t word = 0;
    each(n, [&](auto get, auto put) {
      if (word % 4 == 0)
        dropout_words(key, static_cast<std::uint64_t>(first / 64 + word / 4), words);
      put(static_cast<Act*>(out), drop(key, words[word % 4], get(static_cast<const Act*>(in))));
      ++word;
    });
  }

  static void from_f32(const float* in, void* out, int64_t n) {
    each(n, [&](auto get, auto put) { put(static_cast<Act*>(out), get(in)); });
  }
  static void to_f32(const void* in, float* out, int64_t n) {
    each(n, [&](auto get, auto put) { put(out, get(static_cast<const Act*>(in))); });
  }

  static constexpr cpu::ActKernels table() {
    return {.store_tile = store_tile<Act>,
            .store_transposed = store_transposed<Act>,
            .embed_row = embed_row,
            .layer_norm = layer_norm,
            .layer_norm_backward = layer_norm_backward,
            .rms_norm = nullptr,  // table.cpp adds the functions of other files
            .rms_norm_backward = nullptr,
            .glu = nullptr,
            .glu_backward = nullptr,
            .turn = nullptr,
            .activate = activate,
            .activate_backward = activate_backward,
            .add = add,
            .add_to = add_to,
            .add_column_sums = add_column_sums,
            .add_products = add_products,
            .dot = dot,
            .logits_row = logits_row,
            .logits_gradient = logits_gradient,
            .dropout = dropout,
            .from_f32 = from_f32,
            .to_f32 = to_f32,
            .update = nullptr};
  }
};

}  // namespace ds::DS_LANES
