// The lanes of the instruction set this file is being compiled for, and what is built on them:
// bf16, exp, log, sine and cosine. Included only by the sources that CMake compiles once per
// instruction set.
#pragma once

#include DS_LANES_HEADER

namespace ds::DS_LANES {

using Bf16 = std::uint16_t;
/// Another type than Bf16, so that loads and stores tell them apart.
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
/// As bf16_from_float: half away from zero, denormals kept.
DS_LANES_INLINE U32 round_to_bf16(F32 a) {
  const U32 bits = bits_of(a);
  const U32 rounded = shift_right<16>(bits + broadcast(0x8000U));
  return select_nan(a, shift_right<16>(bits) | broadcast(0x40U), rounded);
}
DS_LANES_INLINE void store(Bf16* p, F32 a) { store_words(p, round_to_bf16(a)); }
DS_LANES_INLINE void store(Bf16* p, F32 a, int n) { store_words(p, round_to_bf16(a), n); }
DS_LANES_INLINE void stream(Bf16* p, F32 a) { stream_words(p, round_to_bf16(a)); }
/// What a store and a load would give.
DS_LANES_INLINE F32 rounded_as(const Bf16*, F32 a) {
  return from_bits(shift_left<16>(round_to_bf16(a)));
}
DS_LANES_INLINE F32 rounded_as(const float*, F32 a) { return a; }

/// e^x, relative error below 2 ulp; 0 below -86.9, infinite above 88.7.
DS_LANES_INLINE F32 exp(F32 x) {
  const F32 lowest = broadcast(-86.9F);
  const F32 clamped = max(lowest, min(broadcast(88.8F), x));  // this order keeps NaN
  const F32 magic = broadcast(12582912.0F);  // 1.5 * 2^23: the sum's low bits are n
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
  // 2^(n - 1), then doubled: 2^128 itself is not a number.
  const F32 half = p * from_bits(shift_left<23>(bits_of(shifted) + broadcast(126U)));
  return select_less(x, lowest, broadcast(0.0F), half + half);
}

/// 1 / (1 + e^-x).
DS_LANES_INLINE F32 sigmoid(F32 x) {
  return broadcast(1.0F) / (broadcast(1.0F) + exp(broadcast(0.0F) - x));
}

/// Natural logarithm of positive normal numbers, relative error below 2 ulp.
DS_LANES_INLINE F32 log(F32 x) {
  const U32 bits = bits_of(x);
  // Mantissa in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) moves the exponent's border
  // there.
  const U32 moved = bits - broadcast(0x3F3504F3U);
  const F32 m =
      from_bits((moved & broadcast(0x007FFFFFU)) + broadcast(0x3F3504F3U)) - broadcast(1.0F);
  const F32 exponent = to_f32(shift_right<23>(moved + broadcast(0x3F800000U))) - broadcast(127.0F);
  F32 p = broadcast(7.0376836292e-2F);  // Cephes logf
  p = fma(p, m, broadcast(-1.1514610310e-1F));
  p = fma(p, m, broadcast(1.1676998740e-1F));
  p = fma(p, m, broadcast(-1.2420140846e-1F));
  p = fma(p, m, broadcast(1.4249322787e-1F));
  p = fma(p, m, broadcast(-1.6668057665e-1F));
  p = fma(p, m, broadcast(2.0000714765e-1F));
  p = fma(p, m, broadcast(-2.4999993993e-1F));
  p = fma(p, m, broadcast(3.3333331174e-1F));
  const F32 squared = m * m;
  F32 y = p * m * squared;
  y = fma(exponent, broadcast(-2.12194440e-4F), y);
  y = fma(squared, broadcast(-0.5F), y);
  return fma(exponent, broadcast(0.693359375F), m + y);
}

/// Sine and cosine of |x| <= pi / 4.
DS_LANES_INLINE F32 sine(F32 x) {
  const F32 z = x * x;
  F32 p = broadcast(-1.9515295891e-4F);
  p = fma(p, z, broadcast(8.3321608736e-3F));
  p = fma(p, z, broadcast(-1.6666654611e-1F));
  return fma(p * z, x, x);
}
DS_LANES_INLINE F32 cosine(F32 x) {
  const F32 z = x * x;
  F32 p = broadcast(2.443315711809948e-5F);
  p = fma(p, z, broadcast(-1.388731625493765e-3F));
  p = fma(p, z, broadcast(4.166664568298827e-2F));
  return fma(p * z, z, fma(z, broadcast(-0.5F), broadcast(1.0F)));
}

}  // namespace ds::DS_LANES
