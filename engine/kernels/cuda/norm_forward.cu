// Layer norm and RMS norm with the residual's sum: each row is read once and kept in registers.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {
namespace {

constexpr int kHeld = 16;           // elements of a row per thread
constexpr int kMostThreads = 1024;  // so the widest row has 16384 elements

/// Returns the sum over the warps of a row, in their order. `shared`: one number per warp of the
/// block, used once.
__device__ float row_sum(float x, int warps, float* shared) {
  x = warp_sum(x);
  if (warps == 1) return x;
  const int warp = static_cast<int>(threadIdx.x) / 32, first = warp / warps * warps;
  if (threadIdx.x % 32 == 0) shared[warp] = x;
  __syncthreads();
  x = shared[first];
  for (int i = 1; i < warps; ++i) x += shared[first + i];
  return x;
}

/// Reads this thread's part of a row and adds the residual. All loads are issued before any value
/// is used. Returns the part's sum.
template <class T, int kCount, int kPacks>
__device__ float read_row(const NormForward& a, std::int64_t at, int first, int step, int end,
                          float (&x)[kPacks][kCount]) {
  Pack<T, kCount> in[kPacks], delta[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int c = first + j * step;
    if (c >= end) continue;
    in[j] = load_pack<kCount>(static_cast<const T*>(a.in) + at + c);
    if (a.delta != nullptr) delta[j] = load_pack<kCount>(static_cast<const T*>(a.delta) + at + c);
  }
  float total = 0;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int c = first + j * step;
    if (c >= end) continue;
    in[j].get(x[j]);
    if (a.delta != nullptr) {
      float more[kCount];
      delta[j].get(more);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[j][i] = rounded_as<T>(x[j][i] + more[i]);
      store<kCount>(static_cast<T*>(a.sum) + at + c, x[j]);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) total += x[j][i];
  }
  return total;
}

/// `warps` warps share a row; a block has as many rows as fit its threads.
template <class T, int kCount>
__global__ void __launch_bounds__(kMostThreads) norm_kernel(NormForward a, int warps) {
  constexpr int kPacks = kHeld / kCount;
  __shared__ float shared[2][kMostThreads / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int rows_here = static_cast<int>(blockDim.x) / 32 / warps;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * rows_here + warp / warps;
  const int width = static_cast<int>(a.width), end = row < a.rows ? width : 0;
  const int first = (warp % warps * 32 + lane) * kCount, step = warps * 32 * kCount;
  const std::int64_t at = row * width;
  float x[kPacks][kCount];
  const float total = read_row<T, kCount, kPacks>(a, at, first, step, end, x);
  const bool centred = a.mean != nullptr;
  const float mean = centred ? row_sum(total, warps, shared[0]) / static_cast<float>(width) : 0.0F;
  float squares = 0;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    if (first + j * step >= end) continue;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      x[j][i] -= mean;
      squares = fmaf(x[j][i], x[j][i], squares);
    }
  }
  const float variance = row_sum(squares, warps, shared[1]) / static_cast<float>(width);
  const float rstd = 1.0F / sqrtf(variance + a.eps);
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    const int c = first + j * step;
    if (c >= end) continue;
    float weight[kCount], bias[kCount] = {};
    load<kCount>(static_cast<const T*>(a.weight) + c, weight);
    if (a.bias != nullptr) load<kCount>(static_cast<const T*>(a.bias) + c, bias);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[j][i] = fmaf(x[j][i] * rstd, weight[i], bias[i]);
    store<kCount>(static_cast<T*>(a.out) + at + c, x[j]);
  }
  if (first == 0 && end > 0) {
    if (centred) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T, int kCount>
cudaError_t norm(const Launch& l, const NormForward& a) {
  constexpr int kAWarp = 32 * kHeld;
  const int warps = static_cast<int>((a.width + kAWarp - 1) / kAWarp);
  const int rows_here = warps < 4 ? 4 / warps : 1;
  const std::int64_t blocks = (a.rows + rows_here - 1) / rows_here;
  return launch(norm_kernel<T, kCount>,
                {static_cast<unsigned>(blocks), static_cast<unsigned>(32 * warps * rows_here)},
                l.stream, a, warps);
}

}  // namespace

cudaError_t launch_norm(const Launch& l, Act act, const NormForward& a) {
  if (a.width > kHeld * kMostThreads) return launch_norm_wide(l, act, a);
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const bool wide =
        all_aligned(a.in, a.delta, a.weight, a.bias, a.sum, a.out) && a.width % kPackOf<T> == 0;
    return wide ? norm<T, kPackOf<T>>(l, a) : norm<T, 1>(l, a);
  });
}

}  // namespace ds::cuda
