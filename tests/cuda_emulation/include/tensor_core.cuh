// Tensor-core products and asynchronous copies on the CPU. Replaces
// engine/device/cuda/ptx/tensor_core.cuh, which documents the layouts. Products are summed in
// double and rounded once, because the device's own order is not documented.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "emulation/block.h"

namespace emulation {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

template <class T>
float element(std::uint32_t word, unsigned half) {
  const auto bits = static_cast<std::uint16_t>(word >> (16 * half));
  if constexpr (std::is_same_v<T, __half>) {
    return half_to_float(bits);
  } else {
    return bfloat16_to_float(bits);
  }
}

/// Defined in the runtime for the machine's widest vectors; the bits do not depend on them.
void multiply_16x8x16(const double (&a)[16][16], const double (&b)[16][8], double (&sums)[16][8]);

struct Product {
  float* d;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

template <class T>
void product_action(void* const* lanes, unsigned) {
  double a[16][16], b[16][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto& own = *static_cast<const Product*>(lanes[lane]);
    const unsigned group = lane / 4, pair = lane % 4 * 2;
    for (unsigned i = 0; i < 4; ++i) {
      for (unsigned half = 0; half < 2; ++half) {
        a[group + i % 2 * 8][pair + half + i / 2 * 8] = element<T>(own.a[i], half);
        if (i < 2) b[pair + half + i * 8][group] = element<T>(own.b[i], half);
      }
    }
  }
  double sums[16][8];
  multiply_16x8x16(a, b, sums);
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned column = 0; column < 8; ++column) {
      float& d =
          static_cast<const Product*>(lanes[row % 8 * 4 + column / 2])->d[row / 8 * 2 + column % 2];
      d = static_cast<float>(static_cast<double>(d) + sums[row][column]);
    }
  }
}

struct MatrixLoad {
  std::uint32_t* to;
  const void* row;
};

template <unsigned kMatrices, bool kTransposed>
void load_action(void* const* lanes, unsigned) {
  for (unsigned matrix = 0; matrix < kMatrices; ++matrix) {
    std::uint16_t elements[8][8];
    for (unsigned row = 0; row < 8; ++row) {
      std::memcpy(elements[row], static_cast<const MatrixLoad*>(lanes[matrix * 8 + row])->row, 16);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned row = lane / 4, pair = lane % 4 * 2;
      const std::uint32_t low = kTransposed ? elements[pair][row] : elements[row][pair];
      const std::uint32_t high = kTransposed ? elements[pair + 1][row] : elements[row][pair + 1];
      static_cast<const MatrixLoad*>(lanes[lane])->to[matrix] = low | high << 16;
    }
  }
}

template <unsigned kMatrices, bool kTransposed>
void load_matrices(std::uint32_t* to, const void* row) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
    kernel_fault("ldmatrix: a row is not aligned");
  if (!in_shared_memory(row)) kernel_fault("ldmatrix: a row is not in shared memory");
  MatrixLoad own{to, row};
  warp_collective(kWholeWarp, load_action<kMatrices, kTransposed>, &own);
}

}  // namespace emulation

namespace ds::cuda {

template <class T>
void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  ::emulation::Product own{d, a, {b0, b1}};
  ::emulation::warp_collective(::emulation::kWholeWarp, ::emulation::product_action<T>, &own);
}

inline void load_matrix_x4(std::uint32_t (&to)[4], const void* shared_row) {
  ::emulation::load_matrices<4, false>(to, shared_row);
}
inline void load_matrix_x4_transposed(std::uint32_t (&to)[4], const void* shared_row) {
  ::emulation::load_matrices<4, true>(to, shared_row);
}
inline void load_matrix_x2(std::uint32_t (&to)[2], const void* shared_row) {
  ::emulation::load_matrices<2, false>(to, shared_row);
}
inline void load_matrix_x2_transposed(std::uint32_t (&to)[2], const void* shared_row) {
  ::emulation::load_matrices<2, true>(to, shared_row);
}

inline void copy_async_16(void* shared, const void* global, bool valid) {
  ::emulation::copy_async(shared, global, valid);
}
inline void copy_async_commit() { ::emulation::copy_async_commit(); }
template <int kPending>
void copy_async_wait() {
  ::emulation::copy_async_wait(kPending);
}

}  // namespace ds::cuda
