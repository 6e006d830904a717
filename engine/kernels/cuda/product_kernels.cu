// Column sums in a fixed order, and plain products and biases where the library has no algorithm.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/product_kernels.h"

namespace ds::cuda {
namespace {

constexpr int kLanes = 32, kRowLanes = 8;
constexpr int kRowsOfBlock = 256;
constexpr int kTile = 16;
constexpr int kThreads = 256;

/// One block: 32 lanes of W columns each, 8 rows at a time, over 256 rows.
template <class T, int W>
__global__ void column_partials(const T* in, std::int64_t rows, std::int64_t columns,
                                std::int64_t row_length, float* partials) {
  __shared__ float sums[kRowLanes][kLanes * W];
  const std::int64_t column = (blockIdx.x * std::int64_t{kLanes} + threadIdx.x) * W;
  const std::int64_t first = blockIdx.y * std::int64_t{kRowsOfBlock};
  const std::int64_t end = first + kRowsOfBlock < rows ? first + kRowsOfBlock : rows;
  float sum[W] = {};
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t r = first + threadIdx.y; r < end; r += kRowLanes) {
      if constexpr (W == 1) {
        sum[0] += to_float(in[r * row_length + column]);
      } else {
        float x[W];
        load(in + r * row_length + column, x);
#pragma unroll
        for (int i = 0; i < W; ++i) sum[i] += x[i];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < W; ++i) sums[threadIdx.y][i * kLanes + threadIdx.x] = sum[i];
  __syncthreads();
  // Thread (x, y) finishes columns y, y + 8, ... of lane x.
  for (int i = static_cast<int>(threadIdx.y); i < W; i += kRowLanes) {
    float total = 0;
#pragma unroll
    for (int y = 0; y < kRowLanes; ++y) total += sums[y][i * kLanes + threadIdx.x];
    if (column < columns) partials[blockIdx.y * columns + column + i] = total;
  }
}

/// One block: 32 columns. Each of 8 threads adds every 8th partial sum of a column, in order.
__global__ void column_totals(const float* partials, std::int64_t blocks, std::int64_t columns,
                              float* out, bool accumulate) {
  __shared__ float sums[kRowLanes][kLanes];
  const std::int64_t column = blockIdx.x * std::int64_t{kLanes} + threadIdx.x;
  float sum = 0;
  if (column < columns) {
#pragma unroll 4
    for (std::int64_t b = threadIdx.y; b < blocks; b += kRowLanes) {
      sum += partials[b * columns + column];
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  float total = 0;
#pragma unroll
  for (int y = 0; y < kRowLanes; ++y) total += sums[y][threadIdx.x];
  out[column] = accumulate ? out[column] + total : total;
}

template <class T>
__global__ void add_bias(T* out, const T* bias, std::int64_t elements, std::int64_t columns,
                         std::int64_t row_length) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < elements;
       i += step) {
    T& to = out[i / columns * row_length + i % columns];
    to = from_float<T>(to_float(to) + to_float(bias[i % columns]));
  }
}

template <class T, class Out>
__global__ void plain_product(PlainProduct p, std::int64_t tiles_n) {
  __shared__ float tile_a[kTile][kTile + 1], tile_b[kTile][kTile + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t row = blockIdx.x / tiles_n * kTile, column = blockIdx.x % tiles_n * kTile;
  const T* a = static_cast<const T*>(p.a.data);
  const T* b = static_cast<const T*>(p.b.data);
  float sum = 0;
  for (std::int64_t k = 0; k < p.k; k += kTile) {
    tile_a[y][x] = row + y < p.m && k + x < p.k
                       ? to_float(a[(row + y) * p.a.row + (k + x) * p.a.column])
                       : 0.0F;
    tile_b[y][x] = k + y < p.k && column + x < p.n
                       ? to_float(b[(k + y) * p.b.row + (column + x) * p.b.column])
                       : 0.0F;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum = fmaf(tile_a[y][i], tile_b[i][x], sum);
    __syncthreads();
  }
  if (row + y >= p.m || column + x >= p.n) return;
  Out* const out = static_cast<Out*>(p.out) + (row + y) * p.out_row + column + x;
  *out = from_float<Out>(p.accumulate ? to_float(*out) + sum : sum);
}

template <class T>
cudaError_t launch_partials(const ActMatrix& m, const void* in, float* partials,
                            cudaStream_t stream) {
  const bool vectors =
      m.columns % kPackOf<T> == 0 && m.row_length % kPackOf<T> == 0 && all_aligned(in);
  const std::int64_t per_block = kLanes * (vectors ? kPackOf<T> : 1);
  const LaunchShape shape{dim3(static_cast<unsigned>((m.columns + per_block - 1) / per_block),
                               static_cast<unsigned>((m.rows + kRowsOfBlock - 1) / kRowsOfBlock)),
                          dim3(kLanes, kRowLanes), 0};
  const auto* typed = static_cast<const T*>(in);
  if (vectors) {
    return launch(column_partials<T, kPackOf<T>>, shape, stream, typed, m.rows, m.columns,
                  m.row_length, partials);
  }
  return launch(column_partials<T, 1>, shape, stream, typed, m.rows, m.columns, m.row_length,
                partials);
}

cudaError_t launch_totals(const float* partials, std::int64_t blocks, std::int64_t columns,
                          float* sums, bool accumulate, cudaStream_t stream) {
  return launch(
      column_totals,
      {dim3(static_cast<unsigned>((columns + kLanes - 1) / kLanes)), dim3(kLanes, kRowLanes), 0},
      stream, partials, blocks, columns, sums, accumulate);
}

template <class T>
cudaError_t launch_bias(const ActMatrix& m, void* out, const void* bias, cudaStream_t stream) {
  const std::int64_t elements = m.rows * m.columns, blocks = (elements + kThreads - 1) / kThreads;
  constexpr std::int64_t kMostBlocks = 1 << 16;
  return launch(
      add_bias<T>,
      {dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks)), dim3(kThreads), 0},
      stream, static_cast<T*>(out), static_cast<const T*>(bias), elements, m.columns, m.row_length);
}

template <class T, class Out>
cudaError_t launch_plain(const PlainProduct& p, cudaStream_t stream) {
  const std::int64_t tiles_m = (p.m + kTile - 1) / kTile, tiles_n = (p.n + kTile - 1) / kTile;
  return launch(plain_product<T, Out>,
                {dim3(static_cast<unsigned>(tiles_m * tiles_n)), dim3(kTile, kTile), 0}, stream, p,
                tiles_n);
}

}  // namespace

cudaError_t launch_column_sums(const ActMatrix& m, const void* in, float* partials, float* sums,
                               bool accumulate, cudaStream_t stream) {
  const cudaError_t first = with_act(m.act, [&](auto type) {
    return launch_partials<typename decltype(type)::Element>(m, in, partials, stream);
  });
  if (first != cudaSuccess) return first;
  return launch_totals(partials, (m.rows + kRowsOfBlock - 1) / kRowsOfBlock, m.columns, sums,
                       accumulate, stream);
}

cudaError_t launch_take_sums(const float* added, std::int64_t columns, float* sums, bool accumulate,
                             cudaStream_t stream) {
  return launch_totals(added, 1, columns, sums, accumulate, stream);
}

cudaError_t launch_add_bias(const ActMatrix& m, void* out, const void* bias, cudaStream_t stream) {
  return with_act(m.act, [&](auto type) {
    return launch_bias<typename decltype(type)::Element>(m, out, bias, stream);
  });
}

cudaError_t launch_plain_product(Act act, bool out_f32, const PlainProduct& p,
                                 cudaStream_t stream) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    return out_f32 ? launch_plain<T, float>(p, stream) : launch_plain<T, T>(p, stream);
  });
}

}  // namespace ds::cuda
