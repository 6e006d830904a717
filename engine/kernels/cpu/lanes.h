// Vector types and functions (bf16, f16, exp, log, sigmoid) of the instruction set that this file
// is compiled for. Only the sources that CMake compiles once per instruction set include it.
#pragma once

#include DS_LANES_HEADER

#include "engine/kernels/normal_numbers.h"

namespace ds::DS_LANES {

using Bf16 = std::uint16_t;
/// A type distinct from Bf16, so that loads and stores can overload on it.
struct F16 {
  std::uint16_t bits;
};

DS_LANES_INLINE F32 load(const F16* p) { return load_halves(&p->bits); }
DS_LANES_INLINE F32 load(const F16* p, int n) { return load_halves(&p->bits, n); }
DS_LANES_INLINE void store(F16* p, F32 a) { store_halves(&p->bits, a); }
DS_LANES_INLINE void store(F16* p, F32 a, int n) { store_halves(&p->bits, a, n); }
DS_LANES_INLINE void stream(F16* p, F32 a) { stream_halves(&p->bits, a); }
DS_LANES_INLINE F32 rounded_as(const F16*, F32 a) { return rounded_to_half(a); }

DS_LANES_INLINE F32 load(const Bf16* p) { return from_bits(shift_left<16>(load_words(p))); }
DS_LANES_INLINE F32 load(const Bf16* p, int n) {
  return from_bits(shift_left<16>(load_words(p, n)));
}
/// Rounds like bf16_from_float: half away from zero, denormals kept.
DS_LANES_INLINE U32 round_to_bf16(F32 a) {
  const U32 bits = bits_of(a);
  const U32 rounded = shift_right<16>(bits + broadcast(0x8000U));
  return select_nan(a, shift_right<16>(bits) | broadcast(0x40U), rounded);
}
DS_LANES_INLINE void store(Bf16* p, F32 a) { store_words(p, round_to_bf16(a)); }
DS_LANES_INLINE void store(Bf16* p, F32 a, int n) { store_words(p, round_to_bf16(a), n); }
DS_LANES_INLINE void stream(Bf16* p, F32 a) { stream_words(p, round_to_bf16(a)); }
/// Returns the value that a store followed by a load gives.
DS_LANES_INLINE F32 rounded_as(const Bf16*, F32 a) {
  return from_bits(shift_left<16>(round_to_bf16(a)));
}
DS_LANES_INLINE F32 rounded_as(const float*, F32 a) { return a; }

/// Returns e^x with a relative error below 2 ulp; 0 below -86.9, infinity above 88.7.
DS_LANES_INLINE F32 exp(F32 x) {
  const F32 lowest = broadcast(-86.9F);
  const F32 clamped = max(lowest, min(broadcast(88.8F), x));  // this order of arguments keeps NaN
  const F32 magic = broadcast(12582912.0F);  // 1.5 * 2^23: the low bits of the sum are n
  const F32 shifted = fma(clamped, broadcast(1.44269504F), magic);
  const F32 n = shifted - magic;
  F32 r = fma(n, broadcast(-0.693359375F), clamped);
  r = fma(n, broadcast(2.12194440e-4F), r);
  F32 p = broadcast(1.9875691500e-4F);  // Cephes expf
  p = fma(p, r, broadcast(1.3981999507e-3F));
  p = fma(p, r, broadcast(8.3334519073e-3F));
  p = fma(p, r, broadcast(4.1665795894e-2F));
  p = fma(p, r, broadcast(1.6666665459e-1F));
  p = fma(p, r, broadcast(5.0000001201e-1F));
  p = fma(p, r * r, r + broadcast(1.0F));
  // 2^(n - 1), then doubled: 2^128 itself cannot be represented.
  const F32 half = p * from_bits(shift_left<23>(bits_of(shifted) + broadcast(126U)));
  return select_less(x, lowest, broadcast(0.0F), half + half);
}

/// Returns 1 / (1 + e^-x).
DS_LANES_INLINE F32 sigmoid(F32 x) {
  return broadcast(1.0F) / (broadcast(1.0F) + exp(broadcast(0.0F) - x));
}

struct Lanes {
  using F32 = DS_LANES::F32;
  using U32 = DS_LANES::U32;
  template <class T>
  static DS_LANES_INLINE auto broadcast(T x) {
    return DS_LANES::broadcast(x);
  }
};

/// Returns the natural logarithm of positive normal numbers, relative error below 2 ulp.
DS_LANES_INLINE F32 log(F32 x) { return NormalNumbers<Lanes>::log(x); }

}  // namespace ds::DS_LANES
