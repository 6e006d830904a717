// Gradients of embeddings without atomics: rows are sorted by token, and each token's rows are
// summed in one fixed order.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/token_sort.cuh"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

struct TokenSums {
  const std::uint32_t *keys, *order;  // sorted
  float* dwte;
  std::int64_t rows, width;
};

/// Adds to `sums` those of the rows order[first] ... order[first + 31] whose token is `key`, and
/// returns their number. All lanes must call together.
template <class T, int kCount>
__device__ int add_rows(const TokenSums& a, const T* dout, std::int64_t first, std::uint32_t key,
                        std::int64_t column, float (&sums)[kCount]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t mine = first + lane;
  const bool same = mine < a.rows && a.keys[mine] == key;
  const std::uint32_t row = same ? a.order[mine] : 0;
  const int count = __popc(__ballot_sync(kAllLanes, same));
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    const std::int64_t r = __shfl_sync(kAllLanes, row, i);
    if (column >= a.width) continue;
    float x[kCount];
    load<kCount>(dout + r * a.width + column, x);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k] += x[k];
  }
  return count;
}

template <int kCount>
__device__ void add_to_table(const TokenSums& a, std::uint32_t key, std::int64_t column,
                             const float (&sums)[kCount]) {
  if (column >= a.width) return;
  store_sums<kCount>(a.dwte + key * a.width + column, sums, true);
}

/// blockIdx.x: eight positions of the sorted rows, one per warp; blockIdx.y: columns. The warp at a
/// token's first position adds its rows. If there are more than 32, all warps of the block take
/// turns of 32.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads) sum_tokens_kernel(TokenSums a, const T* dout) {
  __shared__ int goes_on[kWarps];
  __shared__ float parts[kWarps][32 * kCount];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t block_first = static_cast<std::int64_t>(blockIdx.x) * kWarps;
  const std::int64_t place = block_first + warp;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.y) * 32 + lane) * kCount;
  const bool is_first = place < a.rows && (place == 0 || a.keys[place - 1] != a.keys[place]);
  const std::uint32_t key = is_first ? a.keys[place] : 0;
  const bool more = is_first && place + 32 < a.rows && a.keys[place + 32] == key;
  if (is_first && !more) {
    float sums[kCount] = {};
    add_rows(a, dout, place, key, column, sums);
    add_to_table(a, key, column, sums);
  }
  if (lane == 0) goes_on[warp] = more ? 1 : 0;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) {
    if (goes_on[w] == 0) continue;
    const std::int64_t first = block_first + w;
    const std::uint32_t token = a.keys[first];
    float sums[kCount] = {};
    for (std::int64_t at = first + 32 * warp; at < a.rows; at += 32 * kWarps) {
      if (add_rows(a, dout, at, token, column, sums) < 32) break;
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) parts[warp][k * 32 + lane] = sums[k];
    __syncthreads();
    if (warp == 0) {
      for (int i = 1; i < kWarps; ++i) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) sums[k] += parts[i][k * 32 + lane];
      }
      add_to_table(a, token, column, sums);
    }
    __syncthreads();
  }
}

/// Computes dwpe[t] (+)= the sum of dout's rows t over the sequences, in their order.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    sum_positions_kernel(const T* __restrict__ dout, float* __restrict__ dwpe,
                         std::int64_t sequences, std::int64_t elements, bool accumulate) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kCount;
  if (i >= elements) return;
  float sums[kCount] = {};
#pragma unroll 4
  for (std::int64_t b = 0; b < sequences; ++b) {
    float x[kCount];
    load<kCount>(dout + b * elements + i, x);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sums[k] += x[k];
  }
  store_sums<kCount>(dwpe + i, sums, accumulate);
}

int passes_of(std::int64_t vocab) {
  int passes = 1;
  while (passes < 4 && vocab - 1 >= std::int64_t{1} << (passes * kDigitBits)) ++passes;
  return passes;
}

/// A table of `keys` rows and the numbers that select a row of it for each row of dout.
struct KeyedTable {
  const std::int32_t* numbers;
  float* table;
  std::int64_t keys;
};

/// Adds the rows of dout to the rows of a table.
template <class T, int kCount>
cudaError_t add_by_key(const Launch& l, const EmbedGradient& a, const KeyedTable& to) {
  const int passes = passes_of(to.keys);
  const cudaError_t error = launch(sort_tokens_kernel, {1, kSortThreads}, l.stream, to.numbers,
                                   static_cast<int>(a.rows), passes, a.sort);
  if (error != cudaSuccess) return error;
  const bool odd = passes % 2 == 1;
  const TokenSums sums{.keys = odd ? a.sort.keys : a.sort.keys_more,
                       .order = odd ? a.sort.order : a.sort.order_more,
                       .dwte = to.table,
                       .rows = a.rows,
                       .width = a.width};
  const std::int64_t slab = 32 * kCount;
  const dim3 grid(static_cast<unsigned>((a.rows + kWarps - 1) / kWarps),
                  static_cast<unsigned>((a.width + slab - 1) / slab));
  return launch(sum_tokens_kernel<T, kCount>, {grid, kThreads}, l.stream, sums,
                static_cast<const T*>(a.dout));
}

template <class T, int kCount>
cudaError_t backward(const Launch& l, const EmbedGradient& a) {
  const KeyedTable tokens{.numbers = a.tokens, .table = a.dwte, .keys = a.vocab};
  const cudaError_t error = add_by_key<T, kCount>(l, a, tokens);
  if (error != cudaSuccess || a.dwpe == nullptr) return error;
  const std::int64_t elements = a.time * a.width, each = kThreads * kCount;
  if (a.positions != nullptr) {
    const KeyedTable positions{.numbers = a.positions, .table = a.dwpe, .keys = a.time};
    return add_by_key<T, kCount>(l, a, positions);
  }
  return launch(sum_positions_kernel<T, kCount>,
                {static_cast<unsigned>((elements + each - 1) / each), kThreads}, l.stream,
                static_cast<const T*>(a.dout), a.dwpe, a.rows / a.time, elements, a.accumulate_wpe);
}

}  // namespace

cudaError_t launch_embed_backward(const Launch& l, Act act, const EmbedGradient& a) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const bool wide = all_aligned(a.dout, a.dwte, a.dwpe) && a.width % kPackOf<T> == 0;
    return wide ? backward<T, kPackOf<T>>(l, a) : backward<T, 1>(l, a);
  });
}

}  // namespace ds::cuda
