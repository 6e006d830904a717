// AdamW, the leaves of the gradient norm, casts and normal random numbers.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"
#include "engine/tensor/philox.h"

namespace ds::DS_LANES {

struct LaneMath {
  static DS_LANES_INLINE F32 broadcast(float x) { return DS_LANES::broadcast(x); }
  static DS_LANES_INLINE F32 fma(F32 a, F32 b, F32 c) { return DS_LANES::fma(a, b, c); }
  static DS_LANES_INLINE F32 mul(F32 a, F32 b) { return a * b; }
  static DS_LANES_INLINE F32 sub(F32 a, F32 b) { return a - b; }
  static DS_LANES_INLINE F32 div(F32 a, F32 b) { return a / b; }
  static DS_LANES_INLINE F32 sqrt(F32 a) { return DS_LANES::sqrt(a); }
};

template <class Weight>
void adamw(const AdamWCoefficients& c, const float* grad, float* master, float* m, float* v,
           void* weights, int64_t n) {
  each(n, [&](auto get, auto put) {
    F32 w = get(static_cast<const float*>(master)), first = get(static_cast<const float*>(m)),
        second = get(static_cast<const float*>(v));
    adamw_element<LaneMath>(c, get(grad), w, first, second);
    put(master, w);
    put(m, first);
    put(v, second);
    if (weights != nullptr) put(static_cast<Weight*>(weights), w);
  });
}

/// Sixteen sums in f64, lane i taking elements i, i + 16, ...; then lane i takes i + 8, i + 4, i +
/// 2, i + 1.
inline double square_leaf(const float* in, int64_t n, int64_t* non_finite) {
  F64 total = zero_f64();
  F32 bad = broadcast(0.0F);
  each(n, [&](auto get, auto) {
    const F32 x = get(in);
    total = add_squares(total, x);
    const F32 zero_or_nan = x - x;  // 0 for finite numbers
    bad = bad + from_bits(select_nan(zero_or_nan, bits_of(broadcast(1.0F)), broadcast(0U)));
  });
  alignas(64) double lanes[16];
  store(lanes, total);
  for (int half = 8; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  *non_finite += static_cast<int64_t>(sum(bad));
  return lanes[0];
}

inline void sum_parts(const float* in, int64_t parts, int64_t n, int64_t first, int64_t count,
                      float* out, bool accumulate) {
  each(count, [&](auto get, auto put) {
    F32 total = get(in + first);
    for (int64_t part = 1; part < parts; ++part) total = total + get(in + part * n + first);
    put(out + first, accumulate ? get(static_cast<const float*>(out + first)) + total : total);
  });
}

inline void philox_lanes(U32 (&counter)[4], std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    U32 high0, low0, high1, low1;
    multiply(counter[0], broadcast(kPhiloxMultiplier0), high0, low0);
    multiply(counter[2], broadcast(kPhiloxMultiplier1), high1, low1);
    counter[0] = high1 ^ counter[1] ^ broadcast(key0);
    counter[1] = low1;
    counter[2] = high0 ^ counter[3] ^ broadcast(key1);
    counter[3] = low0;
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
}

/// Box and Muller: 24 random bits each for radius and angle. The angle is a quadrant (2 bits) plus
/// a part of
/// [-pi/4, pi/4), so that no argument reduction is needed.
inline void normal_pair(U32 radius_bits, U32 angle_bits, F32& first, F32& second) {
  const F32 unit = broadcast(0x1p-24F);
  const F32 u = fma(to_f32(shift_right<8>(radius_bits)), unit, unit);  // (0, 1]
  const F32 radius = sqrt(log(u) * broadcast(-2.0F) + broadcast(0.0F));
  const F32 part = fma(to_f32(shift_right<8>(shift_left<2>(angle_bits))), unit, broadcast(-0.5F));
  const F32 angle = part * broadcast(1.57079633F);
  const U32 s = bits_of(sine(angle)), c = bits_of(cosine(angle));
  const U32 quadrant = shift_right<30>(angle_bits);
  const U32 odd = broadcast(0U) - (quadrant & broadcast(1U));  // all ones in quadrants 1 and 3
  const U32 swap = (s ^ c) & odd;
  const U32 cosine_sign = shift_left<30>((quadrant + broadcast(1U)) & broadcast(2U));
  const U32 sine_sign = shift_left<30>(quadrant & broadcast(2U));
  first = radius * from_bits((c ^ swap) ^ cosine_sign);
  second = radius * from_bits((s ^ swap) ^ sine_sign);
}

inline void normal_block(std::uint64_t block, std::uint64_t seed, std::uint64_t key, float mean,
                         float deviation, float* out) {
  static constexpr std::uint32_t kIndex[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  const std::uint64_t first = block * 16;
  U32 words[4] = {broadcast(static_cast<std::uint32_t>(first)) + load(kIndex),
                  broadcast(static_cast<std::uint32_t>(first >> 32)),
                  broadcast(static_cast<std::uint32_t>(key)),
                  broadcast(static_cast<std::uint32_t>(key >> 32))};
  philox_lanes(words, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  F32 normal[4];
  normal_pair(words[0], words[1], normal[0], normal[1]);
  normal_pair(words[2], words[3], normal[2], normal[3]);
  alignas(64) float columns[4][16];
  for (int j = 0; j < 4; ++j) {
    store(columns[j], fma(normal[j], broadcast(deviation), broadcast(mean)));
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 4; ++j) out[4 * i + j] = columns[j][i];
  }
}

}  // namespace ds::DS_LANES
