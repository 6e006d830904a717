// CUDA's IEEE half: conversions, and arithmetic that rounds after every operation.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "vector_types.h"

namespace emulation {
inline float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t rest = bits & 0x7FFFU;
  if (rest >= 0x7C00U) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  }
  if (rest >= 0x400U) return std::bit_cast<float>(sign | ((rest << 13) + (112U << 23)));
  const float small = static_cast<float>(rest) * 0x1p-24F;
  return sign != 0 ? -small : small;
}
/// Rounds to nearest even; NaNs become the canonical one, as on the device.
inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t rest = bits & 0x7FFFFFFFU;
  if (rest > 0x7F800000U) return 0x7FFF;
  if (rest >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65520 and more
  if (rest < 0x38800000U) {  // a subnormal: an integer multiple of 2^-24
    const float scaled = std::nearbyint(std::bit_cast<float>(rest) * 0x1p24F);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(scaled));
  }
  const std::uint32_t rounded = rest + 0xFFFU + (rest >> 13 & 1U) - (112U << 23);
  return static_cast<std::uint16_t>(sign | rounded >> 13);
}
}  // namespace emulation

struct alignas(2) __half {
  __half() = default;
  __half(float value) : bits(emulation::float_to_half(value)) {}
  operator float() const { return emulation::half_to_float(bits); }
  std::uint16_t bits;
};
struct alignas(4) __half2 {
  __half2() = default;
  __half2(__half x_, __half y_) : x(x_), y(y_) {}
  __half x, y;
};
using half = __half;
using half2 = __half2;
struct alignas(2) __half_raw {
  unsigned short x;
};

inline __half __float2half(float a) { return __half(a); }
inline __half __float2half_rn(float a) { return __half(a); }
inline __half __double2half(double a) { return __half(static_cast<float>(a)); }
inline float __half2float(__half a) { return a; }
inline unsigned short __half_as_ushort(__half a) { return a.bits; }
inline __half __ushort_as_half(unsigned short bits) { return std::bit_cast<__half>(bits); }
inline short __half_as_short(__half a) { return std::bit_cast<short>(a.bits); }
inline __half __short_as_half(short bits) { return std::bit_cast<__half>(bits); }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline float2 __half22float2(__half2 a) { return {a.x, a.y}; }
inline float __low2float(__half2 a) { return a.x; }
inline float __high2float(__half2 a) { return a.y; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }

inline __half __hadd(__half a, __half b) { return __half(float(a) + float(b)); }
inline __half __hsub(__half a, __half b) { return __half(float(a) - float(b)); }
inline __half __hmul(__half a, __half b) { return __half(float(a) * float(b)); }
inline __half __hneg(__half a) {
  return __ushort_as_half(static_cast<unsigned short>(a.bits ^ 0x8000U));
}
inline __half __habs(__half a) { return __ushort_as_half(a.bits & 0x7FFFU); }
inline __half __hmax(__half a, __half b) { return __half(std::fmax(float(a), float(b))); }
inline __half __hmin(__half a, __half b) { return __half(std::fmin(float(a), float(b))); }
inline bool __hisnan(__half a) { return std::isnan(float(a)); }
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
