// The activations and their slopes, with the CPU's formulas.
#pragma once

#include <cuda_runtime.h>

#include "engine/kernels/activation.h"
#include "engine/kernels/normal_tail.h"

namespace ds::cuda {

/// Returns 1 / (1 + e^-x); 0 and 1 at the ends.
__device__ inline float sigmoid(float x) { return __fdividef(1.0F, 1.0F + expf(-x)); }

/// x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), since tanh(u) = 2 sigmoid(2u) - 1.
struct GeluTanh {
  static __device__ float value(float x) {
    return x * sigmoid(x * fmaf(x * x, 0.0713548163F, 1.59576912F));
  }
  static __device__ float slope(float x) {
    const float squared = x * x;
    const float s = sigmoid(x * fmaf(squared, 0.0713548163F, 1.59576912F));
    return fmaf(x * fmaf(squared, 0.214064449F, 1.59576912F), s * (1.0F - s), s);
  }
};

/// One number, for NormalTail.
struct TailLanes {
  struct F32 {
    float x;
    friend __host__ __device__ F32 operator*(F32 a, F32 b) { return {a.x * b.x}; }
    friend __host__ __device__ F32 operator/(F32 a, F32 b) { return {a.x / b.x}; }
    friend __host__ __device__ F32 fma(F32 a, F32 b, F32 c) { return {fmaf(a.x, b.x, c.x)}; }
  };
  static __host__ __device__ F32 broadcast(float x) { return {x}; }
};

/// x * P(x), P(x) = (1 + erf(x / sqrt(2))) / 2. Below 0 it uses the tail itself, so that nothing
/// cancels.
struct GeluErf {
  static __device__ float value(float x) { return x * below(x, expf(x * x * -0.5F)); }
  static __device__ float slope(float x) {
    const float density = expf(x * x * -0.5F);
    return fmaf(x * 0.398942280F, density, below(x, density));
  }

 private:
  static __device__ float below(float x, float density) {
    const float tail = density * NormalTail<TailLanes>::scaled({fabsf(x)}).x;
    return x < 0.0F ? tail : 1.0F - tail;
  }
};

struct Relu {
  static __device__ float value(float x) { return x < 0.0F ? 0.0F : x; }  // keeps NaN
  static __device__ float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};

/// Keeps NaN, since no comparison with it holds.
struct Finite {
  static __device__ float value(float x) {
    if (x > kLargestF16) return kInPlaceOfInfinity;
    return x < -kLargestF16 ? -kInPlaceOfInfinity : x;
  }
  static __device__ float slope(float x) {
    return x > kLargestF16 || x < -kLargestF16 ? 0.0F : 1.0F;
  }
};

/// Calls body(f) with the functions f.value and f.slope of an activation of one operand.
template <class Body>
auto with_activation(Activation activation, Body body) {
  if (activation == Activation::gelu_erf) return body(GeluErf{});
  if (activation == Activation::relu) return body(Relu{});
  if (activation == Activation::finite) return body(Finite{});
  return body(GeluTanh{});
}

}  // namespace ds::cuda
