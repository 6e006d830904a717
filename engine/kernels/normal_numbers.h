// Normal numbers from random words, shared by all backends so that all make the same bits.
#pragma once

#include <cstdint>

#define DS_NUMBERS_INLINE static constexpr __attribute__((always_inline))

namespace ds {

/// `Lanes` names F32 and U32 (one number or several side by side) and broadcasts to both. In the
/// namespace of these types are operators, fma, sqrt, bits_of, from_bits, to_f32 (of numbers below
/// 2^31), shift_left<n> and shift_right<n>, each exact or correctly rounded.
template <class Lanes>
struct NormalNumbers {
  using F32 = typename Lanes::F32;
  using U32 = typename Lanes::U32;

  DS_NUMBERS_INLINE F32 number(float x) { return Lanes::broadcast(x); }
  DS_NUMBERS_INLINE U32 word(std::uint32_t x) { return Lanes::broadcast(x); }

  /// Returns the natural logarithm of positive normal numbers, relative error below 2 ulp.
  DS_NUMBERS_INLINE F32 log(F32 x) {
    const U32 bits = bits_of(x);
    // Mantissa in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) moves the boundary of the
    // exponent there.
    const U32 moved = bits - word(0x3F3504F3U);
    const F32 m = from_bits((moved & word(0x007FFFFFU)) + word(0x3F3504F3U)) - number(1.0F);
    const F32 exponent = to_f32(shift_right<23>(moved + word(0x3F800000U))) - number(127.0F);
    F32 p = number(7.0376836292e-2F);  // Cephes logf
    p = fma(p, m, number(-1.1514610310e-1F));
    p = fma(p, m, number(1.1676998740e-1F));
    p = fma(p, m, number(-1.2420140846e-1F));
    p = fma(p, m, number(1.4249322787e-1F));
    p = fma(p, m, number(-1.6668057665e-1F));
    p = fma(p, m, number(2.0000714765e-1F));
    p = fma(p, m, number(-2.4999993993e-1F));
    p = fma(p, m, number(3.3333331174e-1F));
    const F32 squared = m * m;
    F32 y = p * m * squared;
    y = fma(exponent, number(-2.12194440e-4F), y);
    y = fma(squared, number(-0.5F), y);
    return fma(exponent, number(0.693359375F), m + y);
  }

  /// Computes sine and cosine of |x| <= pi / 4.
  DS_NUMBERS_INLINE F32 sine(F32 x) {
    const F32 z = x * x;
    F32 p = number(-1.9515295891e-4F);
    p = fma(p, z, number(8.3321608736e-3F));
    p = fma(p, z, number(-1.6666654611e-1F));
    return fma(p * z, x, x);
  }
  DS_NUMBERS_INLINE F32 cosine(F32 x) {
    const F32 z = x * x;
    F32 p = number(2.443315711809948e-5F);
    p = fma(p, z, number(-1.388731625493765e-3F));
    p = fma(p, z, number(4.166664568298827e-2F));
    return fma(p * z, z, fma(z, number(-0.5F), number(1.0F)));
  }

  /// Computes two normal numbers (Box-Muller) from 24 random bits each for radius and angle. The
  /// angle is a quadrant (2 bits) plus a part of [-pi/4, pi/4), so it needs no argument reduction.
  DS_NUMBERS_INLINE void normal_pair(U32 radius_bits, U32 angle_bits, F32& first, F32& second) {
    const F32 unit = number(0x1p-24F);
    const F32 u = fma(to_f32(shift_right<8>(radius_bits)), unit, unit);  // (0, 1]
    const F32 radius = sqrt(log(u) * number(-2.0F) + number(0.0F));
    const F32 part = fma(to_f32(shift_right<8>(shift_left<2>(angle_bits))), unit, number(-0.5F));
    const F32 angle = part * number(1.57079633F);
    const U32 s = bits_of(sine(angle)), c = bits_of(cosine(angle));
    const U32 quadrant = shift_right<30>(angle_bits);
    const U32 odd = word(0U) - (quadrant & word(1U));  // all ones in quadrants 1 and 3
    const U32 swap = (s ^ c) & odd;
    const U32 cosine_sign = shift_left<30>((quadrant + word(1U)) & word(2U));
    const U32 sine_sign = shift_left<30>(quadrant & word(2U));
    first = radius * from_bits((c ^ swap) ^ cosine_sign);
    second = radius * from_bits((s ^ swap) ^ sine_sign);
  }
};

}  // namespace ds

#undef DS_NUMBERS_INLINE
