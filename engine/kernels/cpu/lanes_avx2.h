// Sixteen lanes of f32 or u32 in two AVX2 registers: same functions and bits as lanes_avx512.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define DS_LANES_INLINE inline __attribute__((always_inline))

namespace ds::avx2 {

struct F32 {
  __m256 low, high;
};
struct U32 {
  __m256i low, high;
};
struct F64 {
  __m256d part[4];
};

DS_LANES_INLINE __m256i first_lanes(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

DS_LANES_INLINE F32 broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
DS_LANES_INLINE U32 broadcast(std::uint32_t x) {
  return {_mm256_set1_epi32(static_cast<int>(x)), _mm256_set1_epi32(static_cast<int>(x))};
}
DS_LANES_INLINE F32 operator+(F32 a, F32 b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
DS_LANES_INLINE F32 operator-(F32 a, F32 b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
DS_LANES_INLINE F32 operator*(F32 a, F32 b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
DS_LANES_INLINE F32 operator/(F32 a, F32 b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
DS_LANES_INLINE F32 fma(F32 a, F32 b, F32 c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
DS_LANES_INLINE F32 sqrt(F32 a) { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
/// Returns the second operand if either is NaN.
DS_LANES_INLINE F32 max(F32 a, F32 b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}
DS_LANES_INLINE F32 min(F32 a, F32 b) {
  return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
/// Returns a < b ? x : y per lane.
DS_LANES_INLINE F32 select_less(F32 a, F32 b, F32 x, F32 y) {
  return {_mm256_blendv_ps(y.low, x.low, _mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ)),
          _mm256_blendv_ps(y.high, x.high, _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ))};
}

DS_LANES_INLINE U32 operator+(U32 a, U32 b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
DS_LANES_INLINE U32 operator-(U32 a, U32 b) {
  return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
}
DS_LANES_INLINE U32 operator&(U32 a, U32 b) {
  return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}
DS_LANES_INLINE U32 operator|(U32 a, U32 b) {
  return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}
DS_LANES_INLINE U32 operator^(U32 a, U32 b) {
  return {_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}
template <unsigned kBits>
DS_LANES_INLINE U32 shift_left(U32 a) {
  return {_mm256_slli_epi32(a.low, kBits), _mm256_slli_epi32(a.high, kBits)};
}
template <unsigned kBits>
DS_LANES_INLINE U32 shift_right(U32 a) {
  return {_mm256_srli_epi32(a.low, kBits), _mm256_srli_epi32(a.high, kBits)};
}
DS_LANES_INLINE void multiply(__m256i a, __m256i b, __m256i& high, __m256i& low) {
  const __m256i even = _mm256_mul_epu32(a, b);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
  low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
  high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}
/// Computes the high and low halves of the lanes' 64-bit products.
DS_LANES_INLINE void multiply(U32 a, U32 b, U32& high, U32& low) {
  multiply(a.low, b.low, high.low, low.low);
  multiply(a.high, b.high, high.high, low.high);
}
DS_LANES_INLINE U32 bits_of(F32 a) {
  return {_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)};
}
DS_LANES_INLINE F32 from_bits(U32 a) {
  return {_mm256_castsi256_ps(a.low), _mm256_castsi256_ps(a.high)};
}
/// Converts lanes below 2^31.
DS_LANES_INLINE F32 to_f32(U32 a) {
  return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)};
}

DS_LANES_INLINE F32 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
DS_LANES_INLINE void store(float* p, F32 a) {
  _mm256_storeu_ps(p, a.low);
  _mm256_storeu_ps(p + 8, a.high);
}
DS_LANES_INLINE F32 load(const float* p, int n) {
  return {_mm256_maskload_ps(p, first_lanes(n)), _mm256_maskload_ps(p + 8, first_lanes(n - 8))};
}
DS_LANES_INLINE void store(float* p, F32 a, int n) {
  _mm256_maskstore_ps(p, first_lanes(n), a.low);
  _mm256_maskstore_ps(p + 8, first_lanes(n - 8), a.high);
}
DS_LANES_INLINE U32 load(const std::uint32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
DS_LANES_INLINE void store(std::uint32_t* p, U32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.high);
}
/// Loads sixteen 16-bit words, zero-extended.
DS_LANES_INLINE U32 load_words(const std::uint16_t* p) {
  return {_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
DS_LANES_INLINE U32 load_words(const std::uint16_t* p, int n) {
  std::uint16_t words[16] = {};
  for (int i = 0; i < n; ++i) words[i] = p[i];
  return load_words(words);
}
DS_LANES_INLINE __m256i packed_words(U32 a) {
  const __m256i mask = _mm256_set1_epi32(0xFFFF);
  const __m256i packed =
      _mm256_packus_epi32(_mm256_and_si256(a.low, mask), _mm256_and_si256(a.high, mask));
  return _mm256_permute4x64_epi64(packed, 0xD8);
}
/// Stores the low 16 bits of each lane.
DS_LANES_INLINE void store_words(std::uint16_t* p, U32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), packed_words(a));
}
DS_LANES_INLINE void store_words(std::uint16_t* p, U32 a, int n) {
  std::uint16_t words[16];
  store_words(words, a);
  for (int i = 0; i < n; ++i) p[i] = words[i];
}
/// Loads sixteen f16 values. All f16 conversions round to nearest even regardless of MXCSR and keep
/// denormals.
DS_LANES_INLINE F32 load_halves(const std::uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
}
DS_LANES_INLINE F32 load_halves(const std::uint16_t* p, int n) {
  std::uint16_t words[16] = {};
  for (int i = 0; i < n; ++i) words[i] = p[i];
  return load_halves(words);
}
DS_LANES_INLINE void store_halves(std::uint16_t* p, F32 a) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.low, kNearest));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(a.high, kNearest));
}
DS_LANES_INLINE void store_halves(std::uint16_t* p, F32 a, int n) {
  std::uint16_t words[16];
  store_halves(words, a);
  for (int i = 0; i < n; ++i) p[i] = words[i];
}
/// Stores past the caches at multiples of 64 bytes. Others may read after finish_streams().
DS_LANES_INLINE void stream(float* p, F32 a) {
  _mm256_stream_ps(p, a.low);
  _mm256_stream_ps(p + 8, a.high);
}
DS_LANES_INLINE void stream_words(std::uint16_t* p, U32 a) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), packed_words(a));
}
DS_LANES_INLINE void stream_halves(std::uint16_t* p, F32 a) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.low, kNearest));
  _mm_stream_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(a.high, kNearest));
}
DS_LANES_INLINE void finish_streams() { _mm_sfence(); }
/// Returns the value that store_halves followed by load_halves gives.
DS_LANES_INLINE F32 rounded_to_half(F32 a) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_cvtph_ps(_mm256_cvtps_ph(a.low, kNearest)),
          _mm256_cvtph_ps(_mm256_cvtps_ph(a.high, kNearest))};
}
/// Returns x where a is NaN, else y.
DS_LANES_INLINE U32 select_nan(F32 a, U32 x, U32 y) {
  const __m256i low = _mm256_castps_si256(_mm256_cmp_ps(a.low, a.low, _CMP_UNORD_Q));
  const __m256i high = _mm256_castps_si256(_mm256_cmp_ps(a.high, a.high, _CMP_UNORD_Q));
  return {_mm256_blendv_epi8(y.low, x.low, low), _mm256_blendv_epi8(y.high, x.high, high)};
}

/// Returns the sum of the lanes: i and i + 8, then i and i + 4, + 2, + 1.
DS_LANES_INLINE float sum(F32 a) {
  const __m256 eight = _mm256_add_ps(a.low, a.high);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
DS_LANES_INLINE float largest(F32 a) {
  const __m256 eight = _mm256_max_ps(a.low, a.high);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

DS_LANES_INLINE F64 zero_f64() {
  const __m256d zero = _mm256_setzero_pd();
  return {{zero, zero, zero, zero}};
}
/// Returns total + a * a per lane in f64 (the square is exact).
DS_LANES_INLINE F64 add_squares(F64 total, F32 a) {
  const __m128 quarters[4] = {_mm256_castps256_ps128(a.low), _mm256_extractf128_ps(a.low, 1),
                              _mm256_castps256_ps128(a.high), _mm256_extractf128_ps(a.high, 1)};
  for (int i = 0; i < 4; ++i) {
    const __m256d x = _mm256_cvtps_pd(quarters[i]);
    total.part[i] = _mm256_fmadd_pd(x, x, total.part[i]);
  }
  return total;
}
DS_LANES_INLINE void store(double* p, F64 a) {
  for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + 4 * i, a.part[i]);
}

/// Swaps rows[i] lane j with rows[j] lane i.
DS_LANES_INLINE void transpose(U32 (&r)[16]) {
  alignas(32) std::uint32_t square[16][16];
  for (int i = 0; i < 16; ++i) store(square[i], r[i]);
  alignas(32) std::uint32_t turned[16][16];
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) turned[j][i] = square[i][j];
  }
  for (int i = 0; i < 16; ++i) r[i] = load(turned[i]);
}

}  // namespace ds::avx2
