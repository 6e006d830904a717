// Arithmetic, bit, memory and atomic functions of device code. Fast approximations are replaced by
// the exact functions.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulation/block.h"

// Device code calls these without std::, and nvcc overloads them for all widths.
using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;
using std::signbit;

inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frcp_rn(float a) { return 1.0F / a; }
inline float __frsqrt_rn(float a) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline float rsqrtf(float a) { return 1.0F / std::sqrt(a); }
inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }
inline float __expf(float a) { return std::exp(a); }
inline float __exp2f(float a) { return std::exp2(a); }
inline float __logf(float a) { return std::log(a); }
inline float __log2f(float a) { return std::log2(a); }
inline float __sinf(float a) { return std::sin(a); }
inline float __cosf(float a) { return std::cos(a); }
inline float __powf(float a, float b) { return std::pow(a, b); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_approx(float a) { return 1.0F / a; }
inline float __saturatef(float a) { return a > 0.0F ? (a < 1.0F ? a : 1.0F) : 0.0F; }
inline void sincospif(float a, float* s, float* c) {
  const double angle = static_cast<double>(a) * 3.14159265358979323846;
  *s = static_cast<float>(std::sin(angle));
  *c = static_cast<float>(std::cos(angle));
}
inline float cospif(float a) {
  return static_cast<float>(std::cos(static_cast<double>(a) * 3.14159265358979323846));
}
inline float sinpif(float a) {
  return static_cast<float>(std::sin(static_cast<double>(a) * 3.14159265358979323846));
}

inline float __int_as_float(int a) { return std::bit_cast<float>(a); }
inline float __uint_as_float(unsigned a) { return std::bit_cast<float>(a); }
inline int __float_as_int(float a) { return std::bit_cast<int>(a); }
inline unsigned __float_as_uint(float a) { return std::bit_cast<unsigned>(a); }
inline double __longlong_as_double(long long a) { return std::bit_cast<double>(a); }
inline long long __double_as_longlong(double a) { return std::bit_cast<long long>(a); }
inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __uint2float_rn(unsigned a) { return static_cast<float>(a); }
inline float __double2float_rn(double a) { return static_cast<float>(a); }
// As on the device, out-of-range values give the nearest int and NaN gives 0.
inline int __float2int_rz(float a) {
  return std::isnan(a)         ? 0
         : a >= 2147483648.0F  ? INT32_MAX
         : a <= -2147483648.0F ? INT32_MIN
                               : static_cast<int>(a);
}
inline int __float2int_rn(float a) { return __float2int_rz(std::nearbyint(a)); }
inline unsigned __float2uint_rz(float a) {
  return !(a > 0.0F) ? 0U : a >= 4294967296.0F ? UINT32_MAX : static_cast<unsigned>(a);
}

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<std::int64_t>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline int __popc(unsigned a) { return std::popcount(a); }
inline int __popcll(unsigned long long a) { return std::popcount(a); }
inline int __clz(int a) { return std::countl_zero(static_cast<unsigned>(a)); }
inline int __clzll(long long a) { return std::countl_zero(static_cast<unsigned long long>(a)); }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline int __ffsll(long long a) { return __builtin_ffsll(a); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<unsigned>((both << (shift & 31U)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31U));
}
inline unsigned __brev(unsigned a) {
  unsigned out = 0;
  for (int bit = 0; bit < 32; ++bit) out |= (a >> bit & 1U) << (31 - bit);
  return out;
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned which = selector >> (4 * i) & 0xFU;
    unsigned byte = static_cast<unsigned>(both >> (8 * (which & 7U))) & 0xFFU;
    if ((which & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xFFU : 0U;
    out |= byte << (8 * i);
  }
  return out;
}

namespace emulation {
/// Faults unless `p` is aligned: the device requires it for vector accesses.
template <class T>
void check_aligned(const T* p) {
  if (reinterpret_cast<std::uintptr_t>(p) % sizeof(T) != 0) kernel_fault("misaligned access");
}
template <class T>
T load(const T* p) {
  check_aligned(p);
  return *p;
}
template <class T>
void store(T* p, std::type_identity_t<T> value) {
  check_aligned(p);
  *p = value;
}
}  // namespace emulation
#define DS_EMULATION_LOAD(name) \
  template <class T>            \
  T name(const T* p) {          \
    return emulation::load(p);  \
  }
DS_EMULATION_LOAD(__ldg)
DS_EMULATION_LOAD(__ldcs)
DS_EMULATION_LOAD(__ldca)
DS_EMULATION_LOAD(__ldcg)
DS_EMULATION_LOAD(__ldcv)
DS_EMULATION_LOAD(__ldlu)
#undef DS_EMULATION_LOAD
#define DS_EMULATION_STORE(name)                   \
  template <class T>                               \
  void name(T* p, std::type_identity_t<T> value) { \
    emulation::store(p, value);                    \
  }
DS_EMULATION_STORE(__stcs)
DS_EMULATION_STORE(__stcg)
DS_EMULATION_STORE(__stwb)
DS_EMULATION_STORE(__stwt)
#undef DS_EMULATION_STORE

inline void __threadfence() { std::atomic_signal_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __nanosleep(unsigned) {}
inline void __prof_trigger(int) {}
[[noreturn]] inline void __trap() { emulation::kernel_fault("__trap()"); }

// Integers only: the order of float atomics decides their bits, so our kernels must not use them.
#define DS_EMULATION_ATOMIC(name, expression)                              \
  template <class T>                                                       \
  T name(T* address, std::type_identity_t<T> value) {                      \
    static_assert(std::is_integral_v<T>, "float atomics are not allowed"); \
    const T old = *address;                                                \
    *address = (expression);                                               \
    return old;                                                            \
  }
DS_EMULATION_ATOMIC(atomicAdd, static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) +
                                              static_cast<std::make_unsigned_t<T>>(value)))
DS_EMULATION_ATOMIC(atomicSub, static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) -
                                              static_cast<std::make_unsigned_t<T>>(value)))
DS_EMULATION_ATOMIC(atomicMin, value < old ? value : old)
DS_EMULATION_ATOMIC(atomicMax, old < value ? value : old)
DS_EMULATION_ATOMIC(atomicAnd, static_cast<T>(old& value))
DS_EMULATION_ATOMIC(atomicOr, static_cast<T>(old | value))
DS_EMULATION_ATOMIC(atomicXor, static_cast<T>(old ^ value))
DS_EMULATION_ATOMIC(atomicExch, value)
DS_EMULATION_ATOMIC(atomicInc, old >= value ? T{0} : static_cast<T>(old + 1))
#undef DS_EMULATION_ATOMIC
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T>);
  const T old = *address;
  if (old == compare) *address = value;
  return old;
}
