// Stable radix sort of rows by token, by one block.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {

inline constexpr int kSortThreads = 1024, kSortWarps = kSortThreads / 32;
inline constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

/// Returns the mask of lanes with this lane's digit; 0 for lanes that are not `active`.
__device__ inline unsigned lanes_alike(unsigned digit, bool active) {
  unsigned alike = __ballot_sync(kAllLanes, active);
  if (!active) alike = 0;
#pragma unroll
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const bool set = (digit >> bit & 1U) != 0;
    const unsigned with = __ballot_sync(kAllLanes, set);
    alike &= set ? with : ~with;
  }
  return alike;
}

struct SortShared {
  std::uint32_t place[kSortWarps][kDigits];  // counts, then positions of the warps' next rows
  std::uint32_t warp_total[kSortWarps];
};

/// Turns counts into first positions: digits in order, and within a digit the warps in order.
__device__ inline void places_of_counts(SortShared& s) {
  constexpr int kEach = kSortWarps * kDigits / kSortThreads;  // warps per thread
  constexpr int kThreadsOfDigit = kSortWarps / kEach;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int digit = static_cast<int>(threadIdx.x) / kThreadsOfDigit;
  const int first = static_cast<int>(threadIdx.x) % kThreadsOfDigit * kEach;
  std::uint32_t mine = 0;
  for (int i = 0; i < kEach; ++i) mine += s.place[first + i][digit];
  std::uint32_t through = mine;  // sum of this thread and all before it in the warp
  for (int distance = 1; distance < 32; distance *= 2) {
    const std::uint32_t before = __shfl_up_sync(kAllLanes, through, distance);
    if (lane >= distance) through += before;
  }
  if (lane == 31) s.warp_total[warp] = through;
  __syncthreads();
  std::uint32_t next = through - mine;
  for (int w = 0; w < warp; ++w) next += s.warp_total[w];
  for (int i = 0; i < kEach; ++i) {
    const std::uint32_t count = s.place[first + i][digit];
    s.place[first + i][digit] = next;
    next += count;
  }
  __syncthreads();
}

/// Sorts by the digit at `shift`. Keys and order of the first pass are tokens and row numbers.
__device__ inline void sort_pass(SortShared& s, const std::uint32_t* keys,
                                 const std::uint32_t* order, int rows, int shift,
                                 std::uint32_t* keys_out, std::uint32_t* order_out) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int each = (rows + kSortThreads - 1) / kSortThreads * 32;  // rows per warp
  const int begin = warp * each, end = begin + each < rows ? begin + each : rows;
  for (int d = lane; d < kDigits; d += 32) s.place[warp][d] = 0;
  __syncwarp();
  for (int at = begin; at < end; at += 32) {
    const bool active = at + lane < end;
    const unsigned digit = active ? keys[at + lane] >> shift & (kDigits - 1U) : 0;
    const unsigned alike = lanes_alike(digit, active);
    if (active && lane == __ffs(static_cast<int>(alike)) - 1) {
      s.place[warp][digit] += static_cast<std::uint32_t>(__popc(alike));
    }
    __syncwarp();
  }
  __syncthreads();
  places_of_counts(s);
  for (int at = begin; at < end; at += 32) {
    const bool active = at + lane < end;
    const std::uint32_t key = active ? keys[at + lane] : 0;
    const unsigned digit = key >> shift & (kDigits - 1U);
    const unsigned alike = lanes_alike(digit, active);
    const auto before = static_cast<std::uint32_t>(__popc(alike & ((1U << lane) - 1U)));
    std::uint32_t to = 0;
    if (active) to = s.place[warp][digit] + before;
    __syncwarp();
    if (active) {
      keys_out[to] = key;
      order_out[to] = order == nullptr ? static_cast<std::uint32_t>(at + lane) : order[at + lane];
      if (before == 0) s.place[warp][digit] += static_cast<std::uint32_t>(__popc(alike));
    }
    __syncwarp();
  }
  __syncthreads();
}

/// Sorts by `passes` digits, lowest first. The result is in keys and order after an odd number of
/// passes, else in keys_more and order_more.
__global__ void __launch_bounds__(kSortThreads)
    sort_tokens_kernel(const std::int32_t* tokens, int rows, int passes, TokenSort sort) {
  __shared__ SortShared shared;
  const auto* keys = reinterpret_cast<const std::uint32_t*>(tokens);
  const std::uint32_t* order = nullptr;
  for (int pass = 0; pass < passes; ++pass) {
    std::uint32_t* keys_out = pass % 2 == 0 ? sort.keys : sort.keys_more;
    std::uint32_t* order_out = pass % 2 == 0 ? sort.order : sort.order_more;
    sort_pass(shared, keys, order, rows, pass * kDigitBits, keys_out, order_out);
    keys = keys_out;
    order = order_out;
  }
}

}  // namespace ds::cuda
