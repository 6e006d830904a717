// Tensor-core products and asynchronous copies of sm_80 and later, one wrapper per PTX instruction.
//
// The instructions involve a whole warp: all 32 lanes must call together. Lane l = 4 * g + c of a
// warp holds, for 16-bit matrices (two elements per word, the lower column or row in the lower
// half):
//   a (16 x 16, rows):  a[0] row g, columns 2c, 2c+1;  a[1] row g+8;  a[2] row g, columns + 8;
//                       a[3] row g+8, columns + 8
//   b (16 x 8):         b0 rows 2c, 2c+1 of column g;  b1 rows + 8
//   d (16 x 8, f32):    d[0], d[1] row g, columns 2c, 2c+1;  d[2], d[3] row g+8
// Source: PTX ISA 8.x, "Matrix Fragments for mma.m16n8k16", "ldmatrix", "cp.async".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ds::cuda {

/// d += a * b, 16 x 16 times 16 x 8, in f32. T is __nv_bfloat16 or __half.
template <class T>
__device__ void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                            std::uint32_t b1);

template <>
__device__ inline void mma_16x8x16<__nv_bfloat16>(float (&d)[4], const std::uint32_t (&a)[4],
                                                  std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mma_16x8x16<__half>(float (&d)[4], const std::uint32_t (&a)[4],
                                           std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Loads four 8 x 8 matrices of 16-bit elements from shared memory. Lane l gives the address
/// (16-byte aligned) of row l % 8 of matrix l / 8. It receives in to[i], from matrix i, elements
/// 2 * (l % 4) and the next of row l / 4.
__device__ inline void load_matrix_x4(std::uint32_t (&to)[4], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// Loads the transposed matrices: to[i] holds rows 2 * (l % 4) and the next of column l / 4.
__device__ inline void load_matrix_x4_transposed(std::uint32_t (&to)[4], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// Loads two matrices. Addresses of lanes 0 ... 15 are used; those of other lanes must be valid
/// too.
__device__ inline void load_matrix_x2(std::uint32_t (&to)[2], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(address)
               : "memory");
}

__device__ inline void load_matrix_x2_transposed(std::uint32_t (&to)[2], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(address)
               : "memory");
}

/// Starts a copy of 16 bytes (both addresses 16-byte aligned) into shared memory. If not `valid`,
/// nothing is read and zeros are written (`global` must still be an address in the array).
__device__ inline void copy_async_16(void* shared, const void* global, bool valid) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const std::uint32_t bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(address), "l"(global),
               "r"(bytes)
               : "memory");
}

/// Closes a group of this thread's copies.
__device__ inline void copy_async_commit() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

/// Waits until at most kPending of this thread's groups are unfinished. Other threads see the data
/// after a following __syncthreads().
template <int kPending>
__device__ inline void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

}  // namespace ds::cuda
