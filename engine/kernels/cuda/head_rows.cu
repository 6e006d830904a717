// The rows of the LM head that count: their list, copies of them in a row, and their gradients
// back.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/head_kernels.h"

namespace ds::cuda {
namespace {

constexpr int kListThreads = 1024, kThreads = 256;

/// One block. Each thread lists the rows of one piece, after the rows of the pieces before it.
__global__ void __launch_bounds__(kListThreads) list_rows(CountedRows a) {
  __shared__ int counts[kListThreads];
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t piece = (a.rows + kListThreads - 1) / kListThreads;
  const std::int64_t first = t * piece, last = first + piece < a.rows ? first + piece : a.rows;
  int counted = 0;
  for (std::int64_t r = first; r < last; ++r) counted += a.targets[r] >= 0 ? 1 : 0;
  counts[t] = counted;
  for (int distance = 1; distance < kListThreads; distance *= 2) {
    __syncthreads();
    const int before = t >= distance ? counts[t - distance] : 0;
    __syncthreads();
    counts[t] += before;
  }
  __syncthreads();
  std::int64_t at = counts[t] - counted;
  for (std::int64_t r = first; r < last; ++r) {
    if (a.targets[r] < 0) continue;
    a.list[at] = static_cast<std::int32_t>(r);
    a.wanted[at++] = a.targets[r];
  }
  for (std::int64_t i = counts[kListThreads - 1] + t; i < a.room; i += kListThreads) {
    a.wanted[i] = -1;
  }
}

/// One block per row of `out`; those from `taken` on are zeros.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gather(const T* in, const std::int32_t* list, std::int64_t taken, std::int64_t width,
           float scale, T* out) {
  const std::int64_t row = blockIdx.x;
  const bool counts = row < taken;
  const T* const from = in + (counts ? list[row] : 0) * width;
  for (std::int64_t c = threadIdx.x; c < width; c += kThreads) {
    out[row * width + c] = from_float<T>(counts ? to_float(from[c]) * scale : 0.0F);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    scatter(const T* in, const std::int32_t* list, std::int64_t width, float scale, T* out) {
  const std::int64_t row = blockIdx.x;
  T* const to = out + list[row] * width;
  for (std::int64_t c = threadIdx.x; c < width; c += kThreads) {
    to[c] = from_float<T>(to_float(in[row * width + c]) * scale);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    clear(const std::int32_t* targets, std::int64_t width, T* out) {
  const std::int64_t row = blockIdx.x;
  if (targets[row] >= 0) return;
  for (std::int64_t c = threadIdx.x; c < width; c += kThreads) out[row * width + c] = T{};
}

LaunchShape block_per_row(std::int64_t rows) {
  return {dim3(static_cast<unsigned>(rows)), dim3(kThreads)};
}

}  // namespace

cudaError_t launch_list_rows(const CountedRows& a, cudaStream_t stream) {
  return launch(list_rows, {dim3(1), dim3(kListThreads)}, stream, a);
}

cudaError_t launch_gather_rows(Act act, const RowCopy& a, cudaStream_t stream) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    return launch(gather<T>, block_per_row(a.rows), stream, static_cast<const T*>(a.in), a.list,
                  a.taken, a.width, a.scale, static_cast<T*>(a.out));
  });
}

cudaError_t launch_scatter_rows(Act act, const RowCopy& a, cudaStream_t stream) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    return launch(scatter<T>, block_per_row(a.taken), stream, static_cast<const T*>(a.in), a.list,
                  a.width, a.scale, static_cast<T*>(a.out));
  });
}

cudaError_t launch_clear_rows(Act act, const std::int32_t* targets, std::int64_t rows,
                              std::int64_t width, void* out, cudaStream_t stream) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    return launch(clear<T>, block_per_row(rows), stream, targets, width, static_cast<T*>(out));
  });
}

}  // namespace ds::cuda
