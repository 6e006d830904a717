// CUDA's bfloat16: conversions, and arithmetic that rounds after every operation.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "vector_types.h"

namespace emulation {
inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
/// Rounds to nearest even; NaNs become the canonical one, as on the device.
inline std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FFF;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}
}  // namespace emulation

struct alignas(2) __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) : bits(emulation::float_to_bfloat16(value)) {}
  operator float() const { return emulation::bfloat16_to_float(bits); }
  std::uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat162() = default;
  __nv_bfloat162(__nv_bfloat16 x_, __nv_bfloat16 y_) : x(x_), y(y_) {}
  __nv_bfloat16 x, y;
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
struct alignas(2) __nv_bfloat16_raw {
  unsigned short x;
};

inline __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
inline __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
inline __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(static_cast<float>(a)); }
inline float __bfloat162float(__nv_bfloat16 a) { return a; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return std::bit_cast<__nv_bfloat16>(bits);
}
inline short __bfloat16_as_short(__nv_bfloat16 a) { return std::bit_cast<short>(a.bits); }
inline __nv_bfloat16 __short_as_bfloat16(short bits) { return std::bit_cast<__nv_bfloat16>(bits); }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) {
  return {__nv_bfloat16(a.x), __nv_bfloat16(a.y)};
}
inline __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {a.x, a.y}; }
inline float __low2float(__nv_bfloat162 a) { return a.x; }
inline float __high2float(__nv_bfloat162 a) { return a.y; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }

inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) + float(b));
}
inline __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) - float(b));
}
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) * float(b));
}
inline __nv_bfloat16 __hneg(__nv_bfloat16 a) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(a.bits ^ 0x8000U));
}
inline __nv_bfloat16 __habs(__nv_bfloat16 a) { return __ushort_as_bfloat16(a.bits & 0x7FFFU); }
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(std::fmax(float(a), float(b)));
}
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(std::fmin(float(a), float(b)));
}
inline bool __hisnan(__nv_bfloat16 a) { return std::isnan(float(a)); }
inline __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hadd(a.x, b.x), __hadd(a.y, b.y)};
}
inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmul(a.x, b.x), __hmul(a.y, b.y)};
}
