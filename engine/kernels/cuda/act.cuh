// Activations on the device: conversion to and from f32, vector loads and stores, launch sizes.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "engine/kernels/cuda/act.h"
#include "engine/tensor/bf16.h"

namespace ds::cuda {

/// Types of their own, so that loads and stores can overload on them.
struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(Bf16 x) { return float_from_bf16(x.bits); }
__device__ inline float to_float(F16 x) { return __half2float(__ushort_as_half(x.bits)); }

/// Rounds as Cast documents: bf16 half away from zero, f16 half to even.
template <class T>
__device__ T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline Bf16 from_float<Bf16>(float x) {
  return {bf16_from_float(x)};
}
template <>
__device__ inline F16 from_float<F16>(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}

/// Returns the value that a store followed by a load gives.
template <class T>
__device__ inline float rounded_as(float x) {
  return to_float(from_float<T>(x));
}

/// The machine type of `kBytes` bytes that one instruction moves.
template <int kBytes>
struct WordOf;
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};

/// kCount adjacent elements, aligned to their total size. Words are assembled by hand, because the
/// compiler splits some 16-byte accesses otherwise.
template <class T, int kCount>
struct Pack {
  static constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  typename WordOf<kBytes>::Type word;

  __device__ void get(float (&x)[kCount]) const {
    if constexpr (sizeof(T) == 2 && kCount > 1) {
      unsigned words[kBytes / 4];
      __builtin_memcpy(words, &word, sizeof(word));
#pragma unroll
      for (int i = 0; i < kBytes / 4; ++i) {
        x[2 * i] = to_float(T{static_cast<std::uint16_t>(words[i])});
        x[2 * i + 1] = to_float(T{static_cast<std::uint16_t>(words[i] >> 16)});
      }
    } else {
      T at[kCount];
      __builtin_memcpy(at, &word, sizeof(word));
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = to_float(at[i]);
    }
  }
  __device__ void set(const float (&x)[kCount]) {
    if constexpr (sizeof(T) == 2 && kCount > 1) {
      unsigned words[kBytes / 4];
#pragma unroll
      for (int i = 0; i < kBytes / 4; ++i) {
        words[i] = from_float<T>(x[2 * i]).bits |
                   static_cast<unsigned>(from_float<T>(x[2 * i + 1]).bits) << 16;
      }
      __builtin_memcpy(&word, words, sizeof(word));
    } else {
      T at[kCount];
#pragma unroll
      for (int i = 0; i < kCount; ++i) at[i] = from_float<T>(x[i]);
      __builtin_memcpy(&word, at, sizeof(word));
    }
  }
};

template <int kCount, class T>
__device__ inline Pack<T, kCount> load_pack(const T* p) {
  return *reinterpret_cast<const Pack<T, kCount>*>(p);
}
template <int kCount, class T>
__device__ inline void load(const T* p, float (&x)[kCount]) {
  load_pack<kCount>(p).get(x);
}
template <int kCount, class T>
__device__ inline void store(T* p, const float (&x)[kCount]) {
  using Word = decltype(Pack<T, kCount>::word);
  Pack<T, kCount> pack;
  pack.set(x);
  if constexpr (sizeof(Word) == 16) {
    __stwb(reinterpret_cast<Word*>(p), pack.word);  // the intrinsic stays one instruction
  } else {
    *reinterpret_cast<Word*>(p) = pack.word;
  }
}

/// Stores or adds f32 sums at a 16-byte-aligned address, four per access where kCount allows.
template <int kCount>
__device__ inline void store_sums(float* p, const float (&x)[kCount], bool accumulate) {
  constexpr int kStep = kCount < 4 ? kCount : 4;
#pragma unroll
  for (int k = 0; k < kCount; k += kStep) {
    float to[kStep] = {};
    if (accumulate) load<kStep>(p + k, to);
#pragma unroll
    for (int i = 0; i < kStep; ++i) to[i] += x[k + i];
    store<kStep>(p + k, to);
  }
}

/// Elements of T in one 16-byte access.
template <class T>
inline constexpr int kPackOf = 16 / static_cast<int>(sizeof(T));

/// with_act() calls body(Type<T>{}) with the element type of `act`.
template <class T>
struct Type {
  using Element = T;
};
template <class Body>
cudaError_t with_act(Act act, Body body) {
  switch (act) {
    case Act::f32:
      return body(Type<float>{});
    case Act::bf16:
      return body(Type<Bf16>{});
    case Act::f16:
      return body(Type<F16>{});
  }
  return cudaErrorInvalidValue;
}

/// Returns whether all pointers (also null ones) are multiples of 16 bytes.
template <class... Pointers>
bool all_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Returns the number of blocks for `items`, `each` per block at a time: at most `waves` blocks per
/// multiprocessor.
inline unsigned grid_of(std::int64_t items, std::int64_t each, int multiprocessors, int waves) {
  const std::int64_t wanted = (items + each - 1) / each;
  const std::int64_t most = static_cast<std::int64_t>(multiprocessors) * waves;
  return static_cast<unsigned>(wanted < most ? wanted : most);
}

}  // namespace ds::cuda
