// Sixteen lanes of f32 or u32 in one AVX-512 register: same functions and bits as lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define DS_LANES_INLINE inline __attribute__((always_inline))

namespace ds::avx512 {

struct F32 {
  __m512 v;
};
struct U32 {
  __m512i v;
};
struct F64 {  // eight lanes, twice
  __m512d low, high;
};

DS_LANES_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1U << n) - 1U); }

DS_LANES_INLINE F32 broadcast(float x) { return {_mm512_set1_ps(x)}; }
DS_LANES_INLINE U32 broadcast(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
DS_LANES_INLINE F32 operator+(F32 a, F32 b) { return {_mm512_add_ps(a.v, b.v)}; }
DS_LANES_INLINE F32 operator-(F32 a, F32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
DS_LANES_INLINE F32 operator*(F32 a, F32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
DS_LANES_INLINE F32 operator/(F32 a, F32 b) { return {_mm512_div_ps(a.v, b.v)}; }
DS_LANES_INLINE F32 fma(F32 a, F32 b, F32 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
DS_LANES_INLINE F32 sqrt(F32 a) { return {_mm512_sqrt_ps(a.v)}; }
/// Returns the second operand if either is NaN.
DS_LANES_INLINE F32 max(F32 a, F32 b) { return {_mm512_max_ps(a.v, b.v)}; }
DS_LANES_INLINE F32 min(F32 a, F32 b) { return {_mm512_min_ps(a.v, b.v)}; }
/// Returns a < b ? x : y per lane.
DS_LANES_INLINE F32 select_less(F32 a, F32 b, F32 x, F32 y) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
}

DS_LANES_INLINE U32 operator+(U32 a, U32 b) { return {_mm512_add_epi32(a.v, b.v)}; }
DS_LANES_INLINE U32 operator-(U32 a, U32 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
DS_LANES_INLINE U32 operator&(U32 a, U32 b) { return {_mm512_and_si512(a.v, b.v)}; }
DS_LANES_INLINE U32 operator|(U32 a, U32 b) { return {_mm512_or_si512(a.v, b.v)}; }
DS_LANES_INLINE U32 operator^(U32 a, U32 b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <unsigned kBits>
DS_LANES_INLINE U32 shift_left(U32 a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <unsigned kBits>
DS_LANES_INLINE U32 shift_right(U32 a) {
  return {_mm512_srli_epi32(a.v, kBits)};
}
/// Computes the high and low halves of the lanes' 64-bit products.
DS_LANES_INLINE void multiply(U32 a, U32 b, U32& high, U32& low) {
  const __m512i even = _mm512_mul_epu32(a.v, b.v);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), _mm512_srli_epi64(b.v, 32));
  low.v = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
  high.v = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}
DS_LANES_INLINE U32 bits_of(F32 a) { return {_mm512_castps_si512(a.v)}; }
DS_LANES_INLINE F32 from_bits(U32 a) { return {_mm512_castsi512_ps(a.v)}; }
/// Converts lanes below 2^31.
DS_LANES_INLINE F32 to_f32(U32 a) { return {_mm512_cvtepi32_ps(a.v)}; }

DS_LANES_INLINE F32 load(const float* p) { return {_mm512_loadu_ps(p)}; }
DS_LANES_INLINE void store(float* p, F32 a) { _mm512_storeu_ps(p, a.v); }
DS_LANES_INLINE F32 load(const float* p, int n) {
  return {_mm512_maskz_loadu_ps(first_lanes(n), p)};
}
DS_LANES_INLINE void store(float* p, F32 a, int n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), a.v);
}
DS_LANES_INLINE U32 load(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
DS_LANES_INLINE void store(std::uint32_t* p, U32 a) { _mm512_storeu_si512(p, a.v); }
/// Loads sixteen 16-bit words, zero-extended.
DS_LANES_INLINE U32 load_words(const std::uint16_t* p) {
  return {_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
DS_LANES_INLINE U32 load_words(const std::uint16_t* p, int n) {
  return {_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first_lanes(n), p))};
}
/// Stores the low 16 bits of each lane.
DS_LANES_INLINE void store_words(std::uint16_t* p, U32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
DS_LANES_INLINE void store_words(std::uint16_t* p, U32 a, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtepi32_epi16(a.v));
}
/// Loads sixteen f16 values. All f16 conversions round to nearest even regardless of MXCSR and keep
/// denormals.
DS_LANES_INLINE F32 load_halves(const std::uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
DS_LANES_INLINE F32 load_halves(const std::uint16_t* p, int n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))};
}
DS_LANES_INLINE __m256i halves_of(F32 a) {
  return _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
DS_LANES_INLINE void store_halves(std::uint16_t* p, F32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves_of(a));
}
DS_LANES_INLINE void store_halves(std::uint16_t* p, F32 a, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), halves_of(a));
}
/// Stores past the caches at multiples of 64 bytes. Others may read after finish_streams().
DS_LANES_INLINE void stream(float* p, F32 a) { _mm512_stream_ps(p, a.v); }
DS_LANES_INLINE void stream_words(std::uint16_t* p, U32 a) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
DS_LANES_INLINE void stream_halves(std::uint16_t* p, F32 a) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), halves_of(a));
}
DS_LANES_INLINE void finish_streams() { _mm_sfence(); }
/// Returns the value that store_halves followed by load_halves gives.
DS_LANES_INLINE F32 rounded_to_half(F32 a) { return {_mm512_cvtph_ps(halves_of(a))}; }
/// Returns x where a is NaN, else y.
DS_LANES_INLINE U32 select_nan(F32 a, U32 x, U32 y) {
  return {_mm512_mask_blend_epi32(_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q), y.v, x.v)};
}

/// Returns the sum of the lanes: i and i + 8, then i and i + 4, + 2, + 1.
DS_LANES_INLINE float sum(F32 a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
DS_LANES_INLINE float largest(F32 a) { return _mm512_reduce_max_ps(a.v); }

DS_LANES_INLINE F64 zero_f64() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
/// Returns total + a * a per lane in f64 (the square is exact).
DS_LANES_INLINE F64 add_squares(F64 total, F32 a) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
  return {_mm512_fmadd_pd(low, low, total.low), _mm512_fmadd_pd(high, high, total.high)};
}
DS_LANES_INLINE void store(double* p, F64 a) {
  _mm512_storeu_pd(p, a.low);
  _mm512_storeu_pd(p + 8, a.high);
}

/// Swaps rows[i] lane j with rows[j] lane i.
DS_LANES_INLINE void transpose(U32 (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i].v, r[i + 1].v);
    t[i + 1] = _mm512_unpackhi_epi32(r[i].v, r[i + 1].v);
  }
  __m512i u[16];
  for (int i = 0; i < 16; i += 4) {
    u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4;
       ++i) {  // u[4*q + i] holds quads of rows 4q..4q+3; its lane group g holds column 4g + i
    const __m512i a = _mm512_shuffle_i32x4(u[i], u[4 + i], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(u[i], u[4 + i], 0xDD);
    const __m512i c = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0xDD);
    r[i].v = _mm512_shuffle_i32x4(a, c, 0x88);
    r[8 + i].v = _mm512_shuffle_i32x4(a, c, 0xDD);
    r[4 + i].v = _mm512_shuffle_i32x4(b, d, 0x88);
    r[12 + i].v = _mm512_shuffle_i32x4(b, d, 0xDD);
  }
}

}  // namespace ds::avx512
