// A kernel's position in the grid, and its barriers. One thread of one block runs at a time; the
// runtime switches threads only inside calls of this header and of warp.h.
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

#ifndef DS_EMULATION_MUTABLE  // the runtime defines it to modify these variables
#define DS_EMULATION_MUTABLE const
#endif
extern DS_EMULATION_MUTABLE uint3 threadIdx, blockIdx;
extern DS_EMULATION_MUTABLE dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace emulation {

/// The block's dynamic shared memory: filled with NaN bytes at the block's start, aligned to 1024.
extern unsigned char* dynamic_shared_bytes;

/// Waits for every thread of the block. Returns how many passed a true `predicate`.
int block_barrier(bool predicate);

/// Waits until every lane of `mask` has called it with the same `action`, and calls the action once
/// with the arguments of all these lanes.
using WarpAction = void (*)(void* const* arguments, unsigned mask);
void warp_collective(unsigned mask, WarpAction action, void* arguments);
/// The calling thread's lane.
extern DS_EMULATION_MUTABLE unsigned current_lane;
inline unsigned lane() { return current_lane; }
/// Returns the lanes of its warp that exist and have not returned.
unsigned live_lanes();

/// Copies 16 bytes into shared memory, at the latest possible moment: when the copy is waited for.
void copy_async(void* shared, const void* global, bool valid);
void copy_async_commit();
/// Waits until at most `pending` groups of the calling thread's copies are unfinished.
void copy_async_wait(int pending);
/// Returns whether `data` may be shared memory: the block's own, or a static array.
bool in_shared_memory(const void* data);

/// Ends the kernel and the device with `message`.
[[noreturn]] void kernel_fault(const char* message);

}  // namespace emulation

inline void __syncthreads() { emulation::block_barrier(false); }
inline int __syncthreads_count(int predicate) { return emulation::block_barrier(predicate != 0); }
inline int __syncthreads_or(int predicate) { return emulation::block_barrier(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) {
  return emulation::block_barrier(predicate == 0) == 0;
}
