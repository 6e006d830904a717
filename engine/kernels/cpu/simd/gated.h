// Vector loops over rows of activations: RMS norm, gated units, rotation of rotary embeddings.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

template <class Act>
struct Gated {
  static const Act* act(const void* p) { return static_cast<const Act*>(p); }
  static Act* act(void* p) { return static_cast<Act*>(p); }

  static void rms_norm(const cpu::RmsNormRows& a, int64_t row, int64_t rows) {
    const int64_t n = a.width;
    for (int64_t r = row; r < row + rows; ++r) {
      const Act* x = act(a.in) + r * n;
      if (a.delta != nullptr) {
        Act* sum_row = act(a.sum) + r * n;
        const Act* delta = act(a.delta) + r * n;
        each(n, [&](auto get, auto put) { put(sum_row, get(x) + get(delta)); });
        x = sum_row;
      }
      F32 squares = broadcast(0.0F);
      each(n, [&](auto get, auto) {
        const F32 value = get(x);
        squares = fma(value, value, squares);
      });
      const float rstd = 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(n) + a.eps);
      Act* out = act(a.out) + r * n;
      each(n, [&](auto get, auto put) { put(out, get(x) * broadcast(rstd) * get(act(a.weight))); });
      if (a.rstd != nullptr) a.rstd[r] = rstd;
    }
  }

  static void rms_norm_backward(const cpu::RmsNormBackwardRows& a, int64_t row, int64_t rows) {
    const int64_t n = a.width;
    each(n, [&](auto, auto put) { put(a.dweight, broadcast(0.0F)); });
    const Act* weight = act(a.weight);
    for (int64_t r = row; r < row + rows; ++r) {
      const Act *dout = act(a.dout) + r * n, *in = act(a.in) + r * n;
      const F32 rstd = broadcast(a.rstd[r]);
      F32 weighted = broadcast(0.0F);
      each(n, [&](auto get, auto put) {
        const F32 dy = get(dout), normal = get(in) * rstd;
        weighted = fma(dy * get(weight), normal, weighted);
        put(a.dweight, fma(dy, normal, get(static_cast<const float*>(a.dweight))));
      });
      const F32 mean = broadcast(sum(weighted) / static_cast<float>(n));
      Act* din = act(a.din) + r * n;
      const Act* residual = a.dresidual == nullptr ? nullptr : act(a.dresidual) + r * n;
      each(n, [&](auto get, auto put) {
        const F32 normal = get(in) * rstd;
        F32 d = (get(dout) * get(weight) - normal * mean) * rstd;
        if (residual != nullptr) d = d + get(residual);
        put(din, d);
      });
    }
  }

  static void glu(Activation activation, const void* gate, const void* up, void* out, int64_t n) {
    if (activation == Activation::gelu_tanh) return gelu_glu(gate, up, out, n);
    each(n, [&](auto get, auto put) {
      const F32 g = get(act(gate));
      put(act(out), g * sigmoid(g) * get(act(up)));
    });
  }

  static void gelu_glu(const void* gate, const void* up, void* out, int64_t n) {
    each(n, [&](auto get, auto put) {
      put(act(out), GeluTanh::value(get(act(gate))) * get(act(up)));
    });
  }

  static void glu_backward(Activation activation, const void* gate, const void* up,
                           const void* dout, void* dgate, void* dup, int64_t n) {
    if (activation == Activation::gelu_tanh) {
      return gelu_glu_backward(gate, up, dout, dgate, dup, n);
    }
    each(n, [&](auto get, auto put) {
      const F32 g = get(act(gate)), u = get(act(up)), d = get(act(dout)), s = sigmoid(g);
      put(act(dgate), d * u * s * fma(g, broadcast(1.0F) - s, broadcast(1.0F)));
      put(act(dup), d * g * s);
    });
  }

  static void gelu_glu_backward(const void* gate, const void* up, const void* dout, void* dgate,
                                void* dup, int64_t n) {
    each(n, [&](auto get, auto put) {
      const F32 g = get(act(gate)), u = get(act(up)), d = get(act(dout));
      put(act(dgate), d * u * GeluTanh::slope(g));
      put(act(dup), d * GeluTanh::value(g));
    });
  }

  static void turn(const void* in, const float* cosine, const float* sine, void* out,
                   int64_t half) {
    each(half, [&](auto get, auto put) {
      const F32 x = get(act(in)), y = get(act(in) + half), c = get(cosine), s = get(sine);
      put(act(out), x * c - y * s);
      put(act(out) + half, y * c + x * s);
    });
  }
};

}  // namespace ds::DS_LANES
