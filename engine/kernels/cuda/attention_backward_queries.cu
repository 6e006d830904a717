// Attention backward: dq and the bias gradient. One block computes a tile of queries of one head.
// Sums by distance go to scratch, one row per block, and are added in the order of blocks.
#include <dynamic_shared.cuh>

#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/attention_launch.cuh"
#include "engine/kernels/cuda/attention_scores.cuh"

namespace ds::cuda {
namespace {

template <class Format, int kD>
struct BackwardQueries {
  using Element = typename Format::Element;
  static constexpr int kWarps = kIsF32<Format> && kD == 256 ? 2 : 4;
  static constexpr int kRows = 16 * kWarps;                            // queries
  static constexpr int kOut = kIsF32<Format> && kD == 256 ? 128 : kD;  // columns of dq per block
  static constexpr int kParts = kD / kOut;
  static constexpr int kKeys = kIsF32<Format> || kD == 256 ? 16 : 64;
  static constexpr int kStages = kIsF32<Format> || kD == 256 ? 1 : 2;
  static constexpr int kTile = kKeys * kD;  // elements
  static constexpr std::size_t kTileBytes =
      static_cast<std::size_t>(2 * kRows * kD + 2 * kStages * kTile) * sizeof(Element) + kRows * 16;
  static constexpr int kDsStride = kKeys + 1;
  static constexpr std::size_t kDsBytes = sizeof(float) * kRows * kDsStride;  // for dbias
};

/// Adds a tile of ds with `keys` keys by distance. part[i] belongs to distance i - (queries before
/// the tile) - kRows + 1 between key and query.
template <int kRows, int kKeys>
__device__ void add_by_distance(float* part, const float* ds, int k0, int keys) {
  const int i = static_cast<int>(threadIdx.x);  // the block may have fewer threads than lines
  for (int line = i; line < kRows + keys - 1; line += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int row = max(0, kRows - 1 - line); row < min(kRows, kRows + kKeys - 1 - line); ++row) {
      sum += ds[row * (kKeys + 1) + line - (kRows - 1) + row];
    }
    part[k0 + line] += sum;
  }
}

template <class Format, int kD>
__global__ __launch_bounds__(
    32 *
    BackwardQueries<Format, kD>::kWarps) void attention_queries_kernel(AttentionBackwardArgs args) {
  using Sizes = BackwardQueries<Format, kD>;
  using Element = typename Format::Element;
  constexpr int kKeys = Sizes::kKeys, kRows = Sizes::kRows, kTiles = kKeys / 8;
  const AttentionArgs& a = args.forward;
  const auto q_block = static_cast<int>(gridDim.x - 1 - blockIdx.x);  // longest first
  const int q0 = q_block * kRows;
  const AttentionHead<Format> head(a, static_cast<int>(blockIdx.z),
                                   static_cast<int>(blockIdx.y) / Sizes::kParts);
  const int first_column = static_cast<int>(blockIdx.y) % Sizes::kParts * Sizes::kOut;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  const int g = static_cast<int>(threadIdx.x) % 32 / 4, c = static_cast<int>(threadIdx.x) % 4;

  auto* q_tile = dynamic_shared<Element>();
  auto* dout_tile = q_tile + kRows * kD;
  auto* stages = dout_tile + kRows * kD;
  auto* kept = reinterpret_cast<std::uint8_t*>(stages + 2 * Sizes::kStages * Sizes::kTile);
  auto* ds_tile = reinterpret_cast<float*>(kept + kRows * 16);
  const auto k_tile = [&](int block) { return stages + block % Sizes::kStages * 2 * Sizes::kTile; };
  const auto load_block = [&](int block) {
    load_tile<Format, kD, kKeys>(k_tile(block), head.keys(), block * kKeys, a.key_len, a.head_size,
                                 a.vectors);
    load_tile<Format, kD, kKeys>(k_tile(block) + Sizes::kTile, head.values(), block * kKeys,
                                 a.key_len, a.head_size, a.vectors);
  };

  float* part = nullptr;
  if (args.dbias != nullptr && first_column == 0) {
    const std::int64_t row =
        (std::int64_t{head.b} * a.heads + head.h) * static_cast<std::int64_t>(gridDim.x) + q_block;
    part = args.dbias_parts + row * (a.key_len + kRows);
    for (int i = static_cast<int>(threadIdx.x); i < a.key_len + kRows;
         i += static_cast<int>(blockDim.x)) {
      part[i] = 0;
    }
  }
  float lse[2], delta[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int q = q0 + warp_row + g + 8 * half;
    lse[half] = q < a.seq_len ? a.lse[head.statistics() + q] * kLog2E : 0;
    delta[half] = q < a.seq_len ? args.delta[head.statistics() + q] : 0;
  }
  __shared__ int span[2];
  const KeySpan seen = head.seen_by_tile(q0, kRows, span);
  const int first_block = seen.first / kKeys, blocks = (seen.last + kKeys - 1) / kKeys;
  load_tile<Format, kD, kRows>(q_tile, head.queries(), q0, a.seq_len, a.head_size, a.vectors);
  load_tile<Format, kD, kRows>(dout_tile, head.outputs(args.dout), q0, a.seq_len, a.head_size,
                               a.vectors);
  if (first_block < blocks) load_block(first_block);
  copy_async_commit();

  float dq[Sizes::kOut / 8][4];
  clear(dq);
#pragma unroll 1
  for (int block = first_block; block < blocks; ++block) {
    if (Sizes::kStages == 2 && block + 1 < blocks) load_block(block + 1);
    copy_async_commit();
    copy_async_wait<Sizes::kStages - 1>();
    const int k0 = block * kKeys;
    if (a.samples != nullptr) draw_kept(kept, head, q0, kRows, k0);
    const bool all = head.wait_and_see_all(q0, kRows, k0, kKeys);

    float p[kTiles][4], ds[kTiles][4];
    clear(p);
    clear(ds);
    multiply_rows<Format, kD>(p, q_tile, warp_row, k_tile(block));
    multiply_rows<Format, kD>(ds, dout_tile, warp_row, k_tile(block) + Sizes::kTile);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int row = warp_row + g + r / 2 * 8, column = 8 * j + 2 * c + r % 2;
        const int q = q0 + row, k = k0 + column;
        const bool visible = all || head.sees(q, k);
        const float exponent = head.score(p[j][r], q, k, visible) - lse[r / 2];
        const float weight = visible ? exp2f(exponent) : 0;
        const float factor =
            a.samples == nullptr ? 1.0F : kept_factor(kept, row, k, a.dropout_scale);
        ds[j][r] = weight * (ds[j][r] * factor - delta[r / 2]);
        if (part != nullptr) ds_tile[row * Sizes::kDsStride + column] = ds[j][r];
      }
    }
    multiply_registers<Format, kD>(dq, ds, k_tile(block), first_column);
    __syncthreads();
    if (part != nullptr)
      add_by_distance<kRows, kKeys>(part, ds_tile, k0, min(kKeys, a.key_len - k0));
    if (Sizes::kStages == 1 && block + 1 < blocks) load_block(block + 1);
  }
  copy_async_wait<0>();

  const auto dq_rows = head.of_queries(args.dq);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int q = q0 + warp_row + g + 8 * half;
    if (q >= a.seq_len) continue;
    store_row<Format>(const_cast<Element*>(dq_rows.data) + q * dq_rows.stride, dq, half,
                      first_column, a.head_size, a.scale, a.head_size % 2 == 0);
  }
}

/// Computes dbias[h][x]: sums over sequences and then blocks of queries, in this order.
__global__ void attention_bias_kernel(AttentionBackwardArgs args, int rows) {
  const AttentionArgs& a = args.forward;
  const int h = static_cast<int>(blockIdx.y), blocks = (a.seq_len + rows - 1) / rows;
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x >= a.seq_len + a.key_len - 1) return;
  float sum = 0;
  for (std::int64_t b = 0; b < a.batch; ++b) {
    for (int block = 0; block < blocks; ++block) {
      const int i = x - (a.seq_len - 1) + block * rows + rows - 1;
      if (i < 0 || i >= a.key_len + rows - 1) continue;
      sum += args.dbias_parts[((b * a.heads + h) * blocks + block) * (a.key_len + rows) + i];
    }
  }
  args.dbias[std::int64_t{h} * (a.seq_len + a.key_len - 1) + x] = sum;
}

/// Computes delta = the sum of dout * out over a row of a head, one warp per row.
template <class Format>
__global__ __launch_bounds__(128) void attention_delta_kernel(AttentionBackwardArgs args) {
  const AttentionArgs& a = args.forward;
  const std::int64_t row = std::int64_t{blockIdx.x} * 4 + threadIdx.x / 32;
  if (row >= std::int64_t{a.batch} * a.seq_len * a.heads) return;
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const auto* dout = static_cast<const typename Format::Element*>(args.dout) + row * a.head_size;
  const auto* out = static_cast<const typename Format::Element*>(a.out) + row * a.head_size;
  float sum = 0;
  for (int d = lane; d < a.head_size; d += 32) {
    sum = fmaf(Format::value(dout[d]), Format::value(out[d]), sum);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
  }
  const std::int64_t t = row / a.heads % a.seq_len, b = row / a.heads / a.seq_len;
  if (lane == 0) args.delta[(b * a.heads + row % a.heads) * a.seq_len + t] = sum;
}

template <class Format, int kD>
cudaError_t launch_queries(const AttentionBackwardArgs& args, cudaStream_t stream) {
  using Sizes = BackwardQueries<Format, kD>;
  const AttentionArgs& a = args.forward;
  const auto heads = static_cast<unsigned>(a.heads), batch = static_cast<unsigned>(a.batch);
  const auto blocks = static_cast<unsigned>((a.seq_len + Sizes::kRows - 1) / Sizes::kRows);
  const bool bias = args.dbias != nullptr;
  const cudaError_t result =
      launch(attention_queries_kernel<Format, kD>,
             {dim3(blocks, heads * Sizes::kParts, batch), dim3(32 * Sizes::kWarps),
              Sizes::kTileBytes + (bias ? Sizes::kDsBytes : 0)},
             stream, args);
  if (result != cudaSuccess || !bias) return result;
  const auto distances = static_cast<unsigned>(a.seq_len + a.key_len - 1);
  return launch(attention_bias_kernel, {dim3((distances + 127) / 128, heads), dim3(128)}, stream,
                args, Sizes::kRows);
}

}  // namespace

cudaError_t launch_attention_backward_queries(Act element, const AttentionBackwardArgs& a,
                                              cudaStream_t stream) {
  return with_format_and_depth(element, a.forward.head_size, [&](auto format, auto depth) {
    static_assert(BackwardQueries<decltype(format), decltype(depth)::value>::kRows ==
                  attention_bias_rows(kIsF32<decltype(format)> ? Act::f32 : Act::bf16,
                                      decltype(depth)::value));
    return launch_queries<decltype(format), decltype(depth)::value>(a, stream);
  });
}

cudaError_t launch_attention_delta(Act element, const AttentionBackwardArgs& a,
                                   cudaStream_t stream) {
  const std::int64_t rows = std::int64_t{a.forward.batch} * a.forward.seq_len * a.forward.heads;
  return with_format(element, [&](auto format) {
    return launch(attention_delta_kernel<decltype(format)>,
                  {dim3(static_cast<unsigned>((rows + 3) / 4)), dim3(128)}, stream, a);
  });
}

}  // namespace ds::cuda
