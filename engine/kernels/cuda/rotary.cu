// Rotary position embedding of queries and keys that are stored in rows.
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/rotary_frequency.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostRotaryPairs = 256;

/// The angles of position p are p * frequency[i].
struct RotaryNumbers {
  float frequency[kMostRotaryPairs];
  std::int64_t seq_len, rows;
  int turned_heads, copied_heads, head_size;
  bool inverse;
};

/// blockIdx.x: a row. Its cosines and sines are computed once for all heads. `out` may be `in`.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    rotary_kernel(RotaryNumbers n, const std::int32_t* positions, const T* in, T* out) {
  __shared__ float cosine[kMostRotaryPairs], sine[kMostRotaryPairs];
  const int half = n.head_size / 2, tid = static_cast<int>(threadIdx.x);
  // In shared memory, because ptxas spills a register around sincosf otherwise.
  __shared__ float position;
  if (tid == 0) {
    position = static_cast<float>(
        positions == nullptr
            ? static_cast<std::int32_t>(blockIdx.x % static_cast<std::uint32_t>(n.seq_len))
            : positions[blockIdx.x]);
  }
  __syncthreads();
  for (int i = tid; i < half; i += kThreads) {
    float s, c;
    sincosf(position * n.frequency[i], &s, &c);
    cosine[i] = c;
    sine[i] = n.inverse ? -s : s;
  }
  __syncthreads();
  const int turned = n.turned_heads * n.head_size, copied = n.copied_heads * n.head_size;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (turned + copied);
  const int packs = half / kCount;  // per half of a head
  for (int item = tid; item < n.turned_heads * packs; item += kThreads) {
    const int i = item % packs * kCount;
    const std::int64_t at = row + item / packs * n.head_size + i;
    float x[kCount], y[kCount];
    load<kCount>(in + at, x);
    load<kCount>(in + at + half, y);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float c = cosine[i + k], s = sine[i + k], u = x[k];
      x[k] = u * c - y[k] * s;
      y[k] = y[k] * c + u * s;
    }
    store<kCount>(out + at, x);
    store<kCount>(out + at + half, y);
  }
  if (in == out) return;
  for (int c = tid * kCount; c < copied; c += kThreads * kCount) {
    float x[kCount];
    load<kCount>(in + row + turned + c, x);
    store<kCount>(out + row + turned + c, x);
  }
}

}  // namespace

template <>
void run(Context&, const Rotary& a, cudaStream_t stream) {
  const std::int64_t groups = a.kv_heads == 0 ? a.heads : a.kv_heads;
  const std::int64_t all_heads = a.heads + 2 * groups;
  const std::int64_t depth = a.rows ? a.in.shape[1] / all_heads : a.in.shape[4];
  const std::int64_t rows = a.in.elements() / (all_heads * depth);
  DS_ASSERT(a.in.elements() == rows * all_heads * depth && a.out.elements() == a.in.elements());
  DS_ASSERT(depth % 2 == 0 && depth / 2 <= kMostRotaryPairs && rows % a.seq_len == 0);
  DS_ASSERT(!a.positions || (a.positions.dtype == DType::i32 && a.positions.elements() == rows));
  DS_ASSERT(rows <= INT32_MAX && a.seq_len <= INT32_MAX && a.out.dtype == a.in.dtype);
  RotaryNumbers numbers{};
  for (std::int64_t i = 0; i < depth / 2; ++i)
    numbers.frequency[i] = rotary_frequency(a, i, depth / 2);
  numbers.seq_len = a.seq_len;
  numbers.rows = rows;
  numbers.turned_heads = static_cast<int>(a.heads + groups);
  numbers.copied_heads = static_cast<int>(groups);
  numbers.head_size = static_cast<int>(depth);
  numbers.inverse = a.inverse;
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(a.in.data);
    auto* to = static_cast<T*>(a.out.data);
    const bool wide = all_aligned(from, to) && depth / 2 % kPackOf<T> == 0;
    return launch(wide ? rotary_kernel<T, kPackOf<T>> : rotary_kernel<T, 1>,
                  {static_cast<unsigned>(rows), kThreads}, stream, numbers,
                  static_cast<const std::int32_t*>(a.positions.data), from, to);
  };
  check(with_act(act_of(a.in.dtype), of_type), "Rotary");
}

}  // namespace ds::cuda
