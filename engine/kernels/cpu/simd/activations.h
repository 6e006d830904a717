// The activations and their slopes on vectors.
#pragma once

#include "engine/kernels/cpu/lanes.h"
#include "engine/kernels/cpu/vector_kernels.h"
#include "engine/kernels/normal_tail.h"

namespace ds::DS_LANES {

/// x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), since tanh(u) = 2 sigmoid(2u) - 1.
struct GeluTanh {
  static DS_LANES_INLINE F32 value(F32 x) {
    const F32 slope = fma(x * x, broadcast(0.0713548163F), broadcast(1.59576912F));
    return x * sigmoid(x * slope);
  }
  static DS_LANES_INLINE F32 slope(F32 x) {
    const F32 squared = x * x;
    const F32 s = sigmoid(x * fma(squared, broadcast(0.0713548163F), broadcast(1.59576912F)));
    const F32 inner = fma(squared, broadcast(0.214064449F), broadcast(1.59576912F));
    return fma(x * inner, s * (broadcast(1.0F) - s), s);
  }
};

/// x * P(x), P(x) = (1 + erf(x / sqrt(2))) / 2. Below 0 it uses the tail itself, so that nothing
/// cancels.
struct GeluErf {
  static DS_LANES_INLINE F32 value(F32 x) { return x * below(x, density_of(x)); }
  static DS_LANES_INLINE F32 slope(F32 x) {
    const F32 density = density_of(x);
    return fma(x * broadcast(0.398942280F), density, below(x, density));
  }

 private:
  /// Returns e^(-x^2 / 2).
  static DS_LANES_INLINE F32 density_of(F32 x) { return exp(x * x * broadcast(-0.5F)); }
  static DS_LANES_INLINE F32 below(F32 x, F32 density) {
    const F32 size = from_bits(bits_of(x) & broadcast(0x7FFFFFFFU));
    const F32 tail = density * NormalTail<Lanes>::scaled(size);
    return select_less(x, broadcast(0.0F), tail, broadcast(1.0F) - tail);
  }
};

struct Relu {
  static DS_LANES_INLINE F32 value(F32 x) { return max(broadcast(0.0F), x); }  // keeps NaN
  static DS_LANES_INLINE F32 slope(F32 x) {
    return select_less(broadcast(0.0F), x, broadcast(1.0F), broadcast(0.0F));
  }
};

/// Keeps NaN, since no comparison with it holds.
struct Finite {
  static DS_LANES_INLINE F32 value(F32 x) {
    const F32 most = broadcast(kInPlaceOfInfinity), limit = broadcast(kLargestF16);
    const F32 below = select_less(limit, x, most, x);
    return select_less(x, broadcast(-kLargestF16), broadcast(-kInPlaceOfInfinity), below);
  }
  static DS_LANES_INLINE F32 slope(F32 x) {
    const F32 zero = broadcast(0.0F);
    const F32 below = select_less(broadcast(kLargestF16), x, zero, broadcast(1.0F));
    return select_less(x, broadcast(-kLargestF16), zero, below);
  }
};

/// Calls body(f) with the functions f.value and f.slope of an activation of one operand.
template <class Body>
DS_LANES_INLINE void with_activation(Activation activation, Body body) {
  if (activation == Activation::gelu_erf) {
    body(GeluErf{});
  } else if (activation == Activation::relu) {
    body(Relu{});
  } else if (activation == Activation::finite) {
    body(Finite{});
  } else {
    body(GeluTanh{});
  }
}

}  // namespace ds::DS_LANES
