// Attention forward: one block computes a tile of queries of one head in one pass over their keys.
// Source: Dao, "FlashAttention-2", arXiv:2307.08691, algorithm 1.
#include <dynamic_shared.cuh>

#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/attention_launch.cuh"
#include "engine/kernels/cuda/attention_scores.cuh"

namespace ds::cuda {
namespace {

template <class Format, int kD>
struct Forward {
  using Element = typename Format::Element;
  static constexpr int kWarps = kIsF32<Format> && kD == 256 ? 2 : 4;
  static constexpr int kRows = 16 * kWarps;
  static constexpr int kOut = kIsF32<Format> && kD == 256 ? 128 : kD;  // columns of out per block
  static constexpr int kParts = kD / kOut;
  static constexpr int kKeys = kIsF32<Format> ? (kD == 256 ? 16 : 32) : (kD == 256 ? 32 : 64);
  static constexpr int kStages = kIsF32<Format> ? 1 : 2;
  static constexpr int kTile = kKeys * kD;              // elements
  static constexpr int kBlocksEach = kD == 64 ? 3 : 1;  // per multiprocessor, by registers
  static constexpr std::size_t kSharedBytes =
      static_cast<std::size_t>(kRows * kD + 2 * kStages * kTile) * sizeof(Element) + kRows * 16;
};

/// Running softmax of the two rows that a lane holds.
struct RunningRows {
  float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};

  /// Replaces x by exp2(x - largest). Returns in `old` the factor for the sums so far.
  template <int kTiles>
  __device__ void exponentials(float (&x)[kTiles][4], float (&old)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = largest[half];
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        top = fmaxf(top, fmaxf(x[j][2 * half], x[j][2 * half + 1]));
      }
      top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 2));
      const float base = top == -INFINITY ? 0 : top;  // no key seen yet
      old[half] = exp2f(largest[half] - base);
      largest[half] = top;
      sum[half] *= old[half];
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
#pragma unroll
        for (int r = 2 * half; r < 2 * half + 2; ++r) {
          x[j][r] = exp2f(x[j][r] - base);
          sum[half] += x[j][r];
        }
      }
    }
  }
  /// Adds the sums of the four lanes of a row.
  __device__ void finish() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[half] += __shfl_xor_sync(0xFFFFFFFFU, sum[half], 1);
      sum[half] += __shfl_xor_sync(0xFFFFFFFFU, sum[half], 2);
    }
  }
};

template <class Format, int kD>
__global__ __launch_bounds__(
    32 * Forward<Format, kD>::kWarps,
    Forward<Format, kD>::kBlocksEach) void attention_forward_kernel(AttentionArgs a) {
  using Sizes = Forward<Format, kD>;
  constexpr int kKeys = Sizes::kKeys, kRows = Sizes::kRows, kTiles = kKeys / 8;
  const int q0 = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;  // longest first
  const AttentionHead<Format> head(a, static_cast<int>(blockIdx.z),
                                   static_cast<int>(blockIdx.y) / Sizes::kParts);
  const int column = static_cast<int>(blockIdx.y) % Sizes::kParts * Sizes::kOut;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  const int g = static_cast<int>(threadIdx.x) % 32 / 4, c = static_cast<int>(threadIdx.x) % 4;

  auto* q_tile = dynamic_shared<typename Format::Element>();
  auto* stages = q_tile + kRows * kD;
  auto* kept = reinterpret_cast<std::uint8_t*>(stages + 2 * Sizes::kStages * Sizes::kTile);
  const auto k_tile = [&](int block) { return stages + block % Sizes::kStages * 2 * Sizes::kTile; };
  const auto load_block = [&](int block) {
    load_tile<Format, kD, kKeys>(k_tile(block), head.keys(), block * kKeys, a.key_len, a.head_size,
                                 a.vectors);
    load_tile<Format, kD, kKeys>(k_tile(block) + Sizes::kTile, head.values(), block * kKeys,
                                 a.key_len, a.head_size, a.vectors);
  };

  __shared__ int span[2];
  const KeySpan seen = head.seen_by_tile(q0, kRows, span);
  const int first_block = seen.first / kKeys, blocks = (seen.last + kKeys - 1) / kKeys;
  load_tile<Format, kD, kRows>(q_tile, head.queries(), q0, a.seq_len, a.head_size, a.vectors);
  if (first_block < blocks) load_block(first_block);
  copy_async_commit();

  RunningRows rows;
  float out[Sizes::kOut / 8][4];
  clear(out);
#pragma unroll 1
  for (int block = first_block; block < blocks; ++block) {
    if (Sizes::kStages == 2 && block + 1 < blocks) load_block(block + 1);
    copy_async_commit();
    copy_async_wait<Sizes::kStages - 1>();
    const int k0 = block * kKeys;
    if (a.samples != nullptr) draw_kept(kept, head, q0, kRows, k0);
    const bool all = head.wait_and_see_all(q0, kRows, k0, kKeys);

    float x[kTiles][4];
    clear(x);
    multiply_rows<Format, kD>(x, q_tile, warp_row, k_tile(block));
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int q = q0 + warp_row + g + r / 2 * 8, k = k0 + 8 * j + 2 * c + r % 2;
        const bool visible = all || head.sees(q, k);
        x[j][r] = visible ? head.score(x[j][r], q, k, visible) : -INFINITY;
      }
    }
    float old[2];
    rows.exponentials(x, old);
#pragma unroll
    for (int j = 0; j < Sizes::kOut / 8; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) out[j][r] *= old[r / 2];
    }
    if (a.samples != nullptr) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          x[j][r] *= kept_factor(kept, warp_row + g + r / 2 * 8, k0 + 8 * j + 2 * c + r % 2,
                                 a.dropout_scale);
        }
      }
    }
    multiply_registers<Format, kD>(out, x, k_tile(block) + Sizes::kTile, column);
    __syncthreads();
    if (Sizes::kStages == 1 && block + 1 < blocks) load_block(block + 1);
  }
  copy_async_wait<0>();

  rows.finish();
  const auto target = head.outputs(a.out);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int q = q0 + warp_row + g + 8 * half;
    if (q >= a.seq_len) continue;
    const float inverse = rows.sum[half] > 0 ? 1.0F / rows.sum[half] : 0.0F;
    auto* row = const_cast<typename Format::Element*>(target.data) + q * target.stride;
    store_row<Format>(row, out, half, column, a.head_size, inverse, a.head_size % 2 == 0);
    if (c == 0 && column == 0) {
      const bool seen = rows.sum[half] > 0;  // a query without keys gives 0
      a.lse[head.statistics() + q] =
          seen ? fmaf(kLn2, rows.largest[half], logf(rows.sum[half])) : 0.0F;
    }
  }
}

template <class Format, int kD>
cudaError_t launch_forward(const AttentionArgs& a, cudaStream_t stream) {
  using Sizes = Forward<Format, kD>;
  const auto blocks = static_cast<unsigned>((a.seq_len + Sizes::kRows - 1) / Sizes::kRows);
  return launch(
      attention_forward_kernel<Format, kD>,
      {dim3(blocks, static_cast<unsigned>(a.heads * Sizes::kParts), static_cast<unsigned>(a.batch)),
       dim3(32 * Sizes::kWarps), Sizes::kSharedBytes},
      stream, a);
}

}  // namespace

cudaError_t launch_attention(Act element, const AttentionArgs& a, cudaStream_t stream) {
  return with_format_and_depth(element, a.head_size, [&](auto format, auto depth) {
    return launch_forward<decltype(format), decltype(depth)::value>(a, stream);
  });
}

}  // namespace ds::cuda
