// Column ops: each thread adds to, or takes, neighboring columns of some rows. "Heads" are rows in
// this backend (HeadsLayout::by_row).
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostRows = 16384;  // blocks in y; each takes every so many rows

struct Parts {
  const void* delta[3];
  std::int64_t first[3], columns[3];  // columns = 0: no part
};

template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    add_columns_kernel(const T* in, Parts parts, T* out, std::int64_t rows, std::int64_t width,
                       float scale) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kCount;
  if (column >= width) return;
  for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    float x[kCount];
    load<kCount>(in + row * width + column, x);
#pragma unroll
    for (int p = 0; p < 3; ++p) {
      const std::int64_t at = column - parts.first[p];
      if (at < 0 || at >= parts.columns[p]) continue;
      float y[kCount];
      load<kCount>(static_cast<const T*>(parts.delta[p]) + row * parts.columns[p] + at, y);
#pragma unroll
      for (int k = 0; k < kCount; ++k) x[k] += scale * y[k];
    }
    store<kCount>(out + row * width + column, x);
  }
}

template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    take_columns_kernel(const T* in, T* out, std::int64_t rows, std::int64_t width,
                        std::int64_t first, std::int64_t n, float scale) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kCount;
  if (column >= n) return;
  for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    float x[kCount];
    load<kCount>(in + row * width + first + column, x);
#pragma unroll
    for (int k = 0; k < kCount; ++k) x[k] *= scale;
    store<kCount>(out + row * n + column, x);
  }
}

dim3 grid_for(std::int64_t columns, std::int64_t rows) {
  return {static_cast<unsigned>((columns + kThreads - 1) / kThreads),
          static_cast<unsigned>(rows < kMostRows ? rows : kMostRows)};
}

}  // namespace

template <>
void run(Context&, const AddColumns& a, cudaStream_t stream) {
  const std::int64_t rows = a.parts[0].delta.shape[0], width = a.in.elements() / rows;
  DS_ASSERT(a.out.dtype == a.in.dtype && a.out.elements() == a.in.elements());
  Parts parts{};
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    constexpr int kWide = kPackOf<T>;
    bool wide = all_aligned(a.in.data, a.out.data) && width % kWide == 0;
    for (int p = 0; p < 3; ++p) {
      const AddColumns::Part& part = a.parts[static_cast<std::size_t>(p)];
      if (!part.delta) continue;
      DS_ASSERT(part.delta.dtype == a.in.dtype && part.delta.shape[0] == rows);
      parts.delta[p] = part.delta.data;
      parts.first[p] = part.first;
      parts.columns[p] = part.delta.shape[1];
      wide = wide && all_aligned(part.delta.data) && part.first % kWide == 0 &&
             parts.columns[p] % kWide == 0;
    }
    const auto* in = static_cast<const T*>(a.in.data);
    auto* out = static_cast<T*>(a.out.data);
    if (wide)
      return launch(add_columns_kernel<T, kWide>, {grid_for(width / kWide, rows), kThreads}, stream,
                    in, parts, out, rows, width, a.scale);
    return launch(add_columns_kernel<T, 1>, {grid_for(width, rows), kThreads}, stream, in, parts,
                  out, rows, width, a.scale);
  };
  check(with_act(act_of(a.in.dtype), of_type), "AddColumns");
}

template <>
void run(Context&, const TakeColumns& a, cudaStream_t stream) {
  const std::int64_t rows = a.in.shape[0], width = a.in.shape[1], n = a.out.shape[1];
  DS_ASSERT(a.out.dtype == a.in.dtype && a.out.shape[0] == rows && a.first + n <= width);
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    constexpr int kWide = kPackOf<T>;
    const bool wide = all_aligned(a.in.data, a.out.data) && width % kWide == 0 && n % kWide == 0 &&
                      a.first % kWide == 0;
    const auto* in = static_cast<const T*>(a.in.data);
    auto* out = static_cast<T*>(a.out.data);
    if (wide)
      return launch(take_columns_kernel<T, kWide>, {grid_for(n / kWide, rows), kThreads}, stream,
                    in, out, rows, width, a.first, n, a.scale);
    return launch(take_columns_kernel<T, 1>, {grid_for(n, rows), kThreads}, stream, in, out, rows,
                  width, a.first, n, a.scale);
  };
  check(with_act(act_of(a.in.dtype), of_type), "TakeColumns");
}

}  // namespace ds::cuda
