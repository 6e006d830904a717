// Embedding: adds the rows of tokens and positions.
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kRows = 32;  // per block: one access reads their tokens, often in host memory

/// A warp processes every kWarps-th row of the block.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    embed_kernel(const std::int32_t* __restrict__ tokens, const T* __restrict__ wte,
                 const T* __restrict__ wpe, const std::int32_t* __restrict__ positions,
                 T* __restrict__ out, std::int64_t rows, std::int64_t time, std::int64_t width) {
  __shared__ std::int32_t token_of[kRows], position_of[kRows];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRows;
  if (threadIdx.x < kRows && first + threadIdx.x < rows) {
    const std::int64_t row = first + threadIdx.x;
    token_of[threadIdx.x] = tokens[row];
    position_of[threadIdx.x] =
        positions == nullptr ? static_cast<std::int32_t>(row % time) : positions[row];
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int i = static_cast<int>(threadIdx.x) / 32; i < kRows && first + i < rows; i += kWarps) {
    const std::int64_t row = first + i;
    const T* token = wte + token_of[i] * width;
    const T* position = wpe == nullptr ? nullptr : wpe + position_of[i] * width;
    T* to = out + row * width;
#pragma unroll 4
    for (std::int64_t c = lane * kCount; c < width; c += 32 * kCount) {
      float x[kCount], y[kCount] = {};
      load<kCount>(token + c, x);
      if (position != nullptr) load<kCount>(position + c, y);
#pragma unroll
      for (int k = 0; k < kCount; ++k) x[k] += y[k];
      store<kCount>(to + c, x);
    }
  }
}

}  // namespace

template <>
void run(Context&, const Embed& a, cudaStream_t stream) {
  const std::int64_t width = a.wte.shape[1], rows = a.tokens.elements();
  DS_ASSERT(a.tokens.dtype == DType::i32 && a.out.elements() == rows * width);
  DS_ASSERT(a.wte.dtype == a.out.dtype && (!a.wpe || a.wpe.dtype == a.out.dtype));
  DS_ASSERT(!a.positions || (a.positions.dtype == DType::i32 && a.positions.elements() == rows));
  const std::int64_t time = a.wpe ? a.wpe.shape[0] : rows;
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const bool wide = all_aligned(a.wte.data, a.wpe.data, a.out.data) && width % kPackOf<T> == 0;
    return launch(wide ? embed_kernel<T, kPackOf<T>> : embed_kernel<T, 1>,
                  {static_cast<unsigned>((rows + kRows - 1) / kRows), kThreads}, stream,
                  static_cast<const std::int32_t*>(a.tokens.data),
                  static_cast<const T*>(a.wte.data), static_cast<const T*>(a.wpe.data),
                  static_cast<const std::int32_t*>(a.positions.data), static_cast<T*>(a.out.data),
                  rows, time, width);
  };
  check(with_act(act_of(a.out.dtype), of_type), "Embed");
}

}  // namespace ds::cuda
