// What a kernel sees of its place in the grid, and its barriers. One thread of one block runs at a
// time; which one it is, the runtime changes only inside calls of this header and of warp.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#ifndef DS_EMULATION_MUTABLE  // the runtime's own view
#define DS_EMULATION_MUTABLE const
#endif
extern DS_EMULATION_MUTABLE uint3 threadIdx, blockIdx;
extern DS_EMULATION_MUTABLE dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace emulation {

/// The block's dynamic shared memory: NaN bytes when the block starts, aligned to 1024 bytes.
extern unsigned char* dynamic_shared_bytes;

/// Returns when every thread of the block has called it: how many gave a true `predicate`.
int block_barrier(bool predicate);

/// Returns when every lane of `mask` has called it with the same `action`, which was then called
/// once, with the arguments of all lanes of `mask`.
using WarpAction = void (*)(void* const* arguments, unsigned mask);
void warp_collective(unsigned mask, WarpAction action, void* arguments);
/// The calling thread's lane.
extern DS_EMULATION_MUTABLE unsigned current_lane;
inline unsigned lane() { return current_lane; }
/// The lanes of its warp that exist and have not returned.
unsigned live_lanes();

/// Copies of 16 bytes into shared memory. They are done at the latest moment: when they are waited
/// for.
void copy_async(void* shared, const void* global, bool valid);
void copy_async_commit();
/// Returns when at most `pending` groups of the calling thread's copies are unfinished.
void copy_async_wait(int pending);
/// Whether `data` may be shared memory: of the block's own, or of static arrays.
bool in_shared_memory(const void* data);

/// Ends the kernel with `message`, and the device with it.
[[noreturn]] void kernel_fault(const char* message);

}  // namespace emulation

inline void __syncthreads() { emulation::block_barrier(false); }
inline int __syncthreads_count(int predicate) { return emulation::block_barrier(predicate != 0); }
inline int __syncthreads_or(int predicate) { return emulation::block_barrier(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) {
  return emulation::block_barrier(predicate == 0) == 0;
}
