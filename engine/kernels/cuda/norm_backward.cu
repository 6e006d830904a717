// Gradients of layer norm and RMS norm. A block processes several rows one after another and keeps
// its sums of the weights' gradients in registers; a second kernel adds the blocks' sums in order.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {
namespace {

constexpr int kMostThreads = 512;

/// The part of one row that a thread reads.
template <class T, int kCount, int kPacks>
struct RowPart {
  Pack<T, kCount> dout[kPacks], in[kPacks], residual[kPacks];
  float mean, rstd;

  __device__ void read(const NormBackward& a, std::int64_t row, int first, int step) {
    const std::int64_t at = row * a.width;
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      const int c = first + j * step;
      if (c >= a.width) continue;
      dout[j] = load_pack<kCount>(static_cast<const T*>(a.dout) + at + c);
      in[j] = load_pack<kCount>(static_cast<const T*>(a.in) + at + c);
      if (a.dresidual != nullptr) {
        residual[j] = load_pack<kCount>(static_cast<const T*>(a.dresidual) + at + c);
      }
    }
    mean = a.mean != nullptr ? a.mean[row] : 0.0F;
    rstd = a.rstd[row];
  }
};

/// Replaces two numbers by their sums over the block, in warp order. `shared`: two numbers per
/// warp.
__device__ void block_sums(float& x, float& y, float (*shared)[2]) {
  x = warp_sum(x);
  y = warp_sum(y);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return;
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32][0] = x;
    shared[threadIdx.x / 32][1] = y;
  }
  __syncthreads();
  x = shared[0][0];
  y = shared[0][1];
  for (int i = 1; i < warps; ++i) {
    x += shared[i][0];
    y += shared[i][1];
  }
}

/// Computes the sums for a row's gradient and adds the row to the weights' gradients.
template <class T, int kCount, int kPacks>
__device__ void add_row(const RowPart<T, kCount, kPacks>& row, const NormBackward& a, int first,
                        int step, float (&dweight)[kPacks][kCount], float (&dbias)[kPacks][kCount],
                        float& plain, float& weighted) {
  plain = weighted = 0;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int c = first + j * step;
    if (c >= a.width) continue;
    float dy[kCount], x[kCount], weight[kCount];
    row.dout[j].get(dy);
    row.in[j].get(x);
    load<kCount>(static_cast<const T*>(a.weight) + c, weight);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float normal = (x[i] - row.mean) * row.rstd, g = dy[i] * weight[i];
      plain += g;
      weighted = fmaf(g, normal, weighted);
      dweight[j][i] = fmaf(dy[i], normal, dweight[j][i]);
      dbias[j][i] += dy[i];
    }
  }
}

template <class T, int kCount, int kPacks>
__device__ void write_row(const RowPart<T, kCount, kPacks>& row, const NormBackward& a,
                          std::int64_t at, int first, int step, float plain, float weighted) {
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int c = first + j * step;
    if (c >= a.width) continue;
    float dy[kCount], x[kCount], weight[kCount], residual[kCount] = {};
    row.dout[j].get(dy);
    row.in[j].get(x);
    if (a.dresidual != nullptr) row.residual[j].get(residual);
    load<kCount>(static_cast<const T*>(a.weight) + c, weight);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float normal = (x[i] - row.mean) * row.rstd;
      dy[i] = (dy[i] * weight[i] - plain - normal * weighted) * row.rstd + residual[i];
    }
    store<kCount>(static_cast<T*>(a.din) + at + c, dy);
  }
}

/// blockIdx.x: a block of rows. The next row is loaded while the current one is processed. `din`
/// may be `dresidual`: only rows beyond the written one are read ahead.
template <class T, int kCount, int kPacks>
__global__ void __launch_bounds__(kMostThreads) norm_backward_kernel(NormBackward a) {
  __shared__ float shared[2][kMostThreads / 32][2];
  const int first = static_cast<int>(threadIdx.x) * kCount;
  const int step = static_cast<int>(blockDim.x) * kCount;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * a.block_rows;
  const std::int64_t end = begin + a.block_rows < a.rows ? begin + a.block_rows : a.rows;
  const auto width = static_cast<float>(a.width);
  float dweight[kPacks][kCount] = {}, dbias[kPacks][kCount] = {};
  RowPart<T, kCount, kPacks> next;
  next.read(a, begin, first, step);
  for (std::int64_t r = begin; r < end; ++r) {
    const RowPart<T, kCount, kPacks> row = next;
    if (r + 1 < end) next.read(a, r + 1, first, step);
    float plain, weighted;
    add_row(row, a, first, step, dweight, dbias, plain, weighted);
    block_sums(plain, weighted, shared[(r - begin) % 2]);
    plain = a.mean != nullptr ? plain / width : 0.0F;
    write_row(row, a, r * a.width, first, step, plain, weighted / width);
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int c = first + j * step;
    if (c >= a.width) continue;
    const std::int64_t at = blockIdx.x * a.width + c;
    store_sums<kCount>(a.dweight_parts + at, dweight[j], false);
    if (a.dbias_parts != nullptr) store_sums<kCount>(a.dbias_parts + at, dbias[j], false);
  }
}

constexpr int kSumWarps = 32;

/// blockIdx.x: 32 columns; blockIdx.y: dweight or dbias. Warp w adds parts w, w + 32, ... in order.
__global__ void __launch_bounds__(32 * kSumWarps) sum_parts_kernel(NormBackward a) {
  __shared__ float sums[kSumWarps][33];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  const float* parts = blockIdx.y == 0 ? a.dweight_parts : a.dbias_parts;
  float* out = blockIdx.y == 0 ? a.dweight : a.dbias;
  if (out == nullptr) return;  // frozen
  float sum = 0;
  if (c < a.width) {
#pragma unroll 8
    for (std::int64_t i = warp; i < a.blocks; i += kSumWarps) sum += parts[i * a.width + c];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || c >= a.width) return;
  for (int i = 1; i < kSumWarps; ++i) sum += sums[i][lane];
  out[c] = a.accumulate ? out[c] + sum : sum;
}

template <class T, int kCount, int kPacks>
cudaError_t backward(const Launch& l, const NormBackward& a) {
  constexpr std::int64_t kAWarp = 32 * kCount * kPacks;
  const auto threads = static_cast<unsigned>((a.width + kAWarp - 1) / kAWarp * 32);
  return launch(norm_backward_kernel<T, kCount, kPacks>, {static_cast<unsigned>(a.blocks), threads},
                l.stream, a);
}

/// A thread holds eight elements of a row, or sixteen where a block has too few threads for eight.
/// More do not fit in registers, nor do sixteen of f32.
template <class T>
cudaError_t backward_of_width(const Launch& l, Act act, const NormBackward& a) {
  constexpr int kWide = kPackOf<T>;
  const bool wide = all_aligned(a.dout, a.in, a.weight, a.dresidual, a.din) && a.width % kWide == 0;
  if (wide && a.width <= 8 * kMostThreads) return backward<T, kWide, 8 / kWide>(l, a);
  if constexpr (sizeof(T) == 2) {
    if (wide && a.width <= 16 * kMostThreads) return backward<T, kWide, 16 / kWide>(l, a);
  }
  if (a.width <= 8 * kMostThreads) return backward<T, 1, 8>(l, a);
  return launch_norm_backward_wide(l, act, a);
}

}  // namespace

cudaError_t launch_norm_backward(const Launch& l, Act act, const NormBackward& a) {
  const cudaError_t error = with_act(act, [&](auto type) {
    return backward_of_width<typename decltype(type)::Element>(l, act, a);
  });
  return error == cudaSuccess ? launch_norm_sums(l, a) : error;
}

cudaError_t launch_norm_sums(const Launch& l, const NormBackward& a) {
  const dim3 grid(static_cast<unsigned>((a.width + 31) / 32), a.dbias_parts != nullptr ? 2 : 1);
  return launch(sum_parts_kernel, {grid, 32 * kSumWarps}, l.stream, a);
}

}  // namespace ds::cuda
