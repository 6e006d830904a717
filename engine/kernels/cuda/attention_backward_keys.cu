// Attention backward: dk and dv. One block computes a tile of keys of one head of keys. It loops
// over the query heads of the group in order, so the sums have one order and need no atomics.
// Source: Dao, "FlashAttention-2", arXiv:2307.08691, algorithm 2, its outer loop.
#include <dynamic_shared.cuh>

#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/attention_launch.cuh"
#include "engine/kernels/cuda/attention_scores.cuh"

namespace ds::cuda {
namespace {

/// A block computes kOut columns of dk and dv, as many as fit in registers.
template <class Format, int kD>
struct BackwardKeys {
  using Element = typename Format::Element;
  static constexpr int kWarps = kIsF32<Format> && kD == 256 ? 2 : 4;
  static constexpr int kRows = 16 * kWarps;  // keys
  static constexpr int kOut = kIsF32<Format> || kD < 128 ? 64 : 128;
  static constexpr int kParts = kD / kOut;
  static constexpr int kQueries = kIsF32<Format> ? (kD == 256 ? 16 : 32)
                                  : kD == 64     ? 64
                                  : kD == 128    ? 32
                                                 : 16;
  static constexpr int kStages = kIsF32<Format> || kD == 256 ? 1 : 2;
  static constexpr int kTile = kQueries * kD;  // elements
  static constexpr std::size_t kSharedBytes =
      static_cast<std::size_t>(2 * kRows * kD + 2 * kStages * kTile) * sizeof(Element) +
      static_cast<std::size_t>(kStages * 2 * kQueries) * sizeof(float) + kQueries * 16;
};

template <class Format, int kD>
__global__ __launch_bounds__(32 * BackwardKeys<Format, kD>::kWarps) void attention_keys_kernel(
    AttentionBackwardArgs args) {
  using Sizes = BackwardKeys<Format, kD>;
  using Element = typename Format::Element;
  constexpr int kQueries = Sizes::kQueries, kRows = Sizes::kRows, kTiles = kQueries / 8;
  const AttentionArgs& a = args.forward;
  const int k0 = static_cast<int>(blockIdx.x) * kRows;
  const int group = static_cast<int>(blockIdx.y) / Sizes::kParts;
  const int column = static_cast<int>(blockIdx.y) % Sizes::kParts * Sizes::kOut;
  const int heads = a.heads / a.kv_heads, b = static_cast<int>(blockIdx.z);
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  const int g = static_cast<int>(threadIdx.x) % 32 / 4, c = static_cast<int>(threadIdx.x) % 4;

  auto* k_tile = dynamic_shared<Element>();
  auto* v_tile = k_tile + kRows * kD;
  auto* stages = v_tile + kRows * kD;
  auto* statistics = reinterpret_cast<float*>(stages + 2 * Sizes::kStages * Sizes::kTile);
  auto* kept = reinterpret_cast<std::uint8_t*>(statistics + Sizes::kStages * 2 * kQueries);
  const AttentionHead<Format> first(a, b, group * heads);
  __shared__ int span[2];
  const KeySpan queries = first.queries_of_tile(k0, kRows, span);
  const int first_block = queries.first / kQueries;
  const int blocks = max(0, (queries.last + kQueries - 1) / kQueries - first_block);
  const int steps = heads * blocks;
  const auto stage = [&](int step) { return step % Sizes::kStages; };
  const auto q_tile = [&](int step) { return stages + stage(step) * 2 * Sizes::kTile; };
  const auto lse_of = [&](int step) { return statistics + stage(step) * 2 * kQueries; };
  const auto load_step = [&](int step) {
    const AttentionHead<Format> head(a, b, group * heads + step / blocks);
    const int q0 = (first_block + step % blocks) * kQueries;
    load_tile<Format, kD, kQueries>(q_tile(step), head.queries(), q0, a.seq_len, a.head_size,
                                    a.vectors);
    load_tile<Format, kD, kQueries>(q_tile(step) + Sizes::kTile, head.outputs(args.dout), q0,
                                    a.seq_len, a.head_size, a.vectors);
    for (int i = static_cast<int>(threadIdx.x); i < kQueries; i += static_cast<int>(blockDim.x)) {
      const bool valid = q0 + i < a.seq_len;
      lse_of(step)[i] = valid ? a.lse[head.statistics() + q0 + i] * kLog2E : 0;
      lse_of(step)[kQueries + i] = valid ? args.delta[head.statistics() + q0 + i] : 0;
    }
  };

  if (steps > 0) {
    load_tile<Format, kD, kRows>(k_tile, first.keys(), k0, a.key_len, a.head_size, a.vectors);
    load_tile<Format, kD, kRows>(v_tile, first.values(), k0, a.key_len, a.head_size, a.vectors);
    load_step(0);
  }
  copy_async_commit();

  float dk[Sizes::kOut / 8][4], dv[Sizes::kOut / 8][4];
  clear(dk);
  clear(dv);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    if (Sizes::kStages == 2 && step + 1 < steps) load_step(step + 1);
    copy_async_commit();
    copy_async_wait<Sizes::kStages - 1>();
    const AttentionHead<Format> head(a, b, group * heads + step / blocks);
    const int q0 = (first_block + step % blocks) * kQueries;
    if (a.samples != nullptr) draw_kept(kept, head, q0, kQueries, k0);
    const bool all = head.wait_and_see_all(q0, kQueries, k0, kRows);

    // Transposed tiles: rows are keys, columns queries. First p and dp, then ds.
    const Element *q_rows = q_tile(step), *dout_rows = q_rows + Sizes::kTile;
    float p[kTiles][4], ds[kTiles][4];
    clear(p);
    clear(ds);
    multiply_rows<Format, kD>(p, k_tile, warp_row, q_rows);
    multiply_rows<Format, kD>(ds, v_tile, warp_row, dout_rows);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int column_of = 8 * j + 2 * c + r % 2, q = q0 + column_of;
        const int k = k0 + warp_row + g + r / 2 * 8;
        const bool visible = all || head.sees(q, k);
        const float exponent = head.score(p[j][r], q, k, visible) - lse_of(step)[column_of];
        const float weight = visible ? exp2f(exponent) : 0;
        const float factor =
            a.samples == nullptr ? 1.0F : kept_factor(kept, column_of, k, a.dropout_scale);
        ds[j][r] = weight * (ds[j][r] * factor - lse_of(step)[kQueries + column_of]);
        p[j][r] = weight * factor;
      }
    }
    multiply_registers<Format, kD>(dv, p, dout_rows, column);
    multiply_registers<Format, kD>(dk, ds, q_rows, column);
    __syncthreads();
    if (Sizes::kStages == 1 && step + 1 < steps) load_step(step + 1);
  }
  copy_async_wait<0>();

  const auto dk_rows = first.of_keys(args.dk), dv_rows = first.of_keys(args.dv);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int k = k0 + warp_row + g + 8 * half;
    if (k >= a.key_len) continue;
    const bool pairs = a.head_size % 2 == 0;
    store_row<Format>(const_cast<Element*>(dk_rows.data) + k * dk_rows.stride, dk, half, column,
                      a.head_size, a.scale, pairs);
    store_row<Format>(const_cast<Element*>(dv_rows.data) + k * dv_rows.stride, dv, half, column,
                      a.head_size, 1.0F, pairs);
  }
}

template <class Format, int kD>
cudaError_t launch_keys(const AttentionBackwardArgs& args, cudaStream_t stream) {
  using Sizes = BackwardKeys<Format, kD>;
  const AttentionArgs& a = args.forward;
  const auto blocks = static_cast<unsigned>((a.key_len + Sizes::kRows - 1) / Sizes::kRows);
  return launch(attention_keys_kernel<Format, kD>,
                {dim3(blocks, static_cast<unsigned>(a.kv_heads * Sizes::kParts),
                      static_cast<unsigned>(a.batch)),
                 dim3(32 * Sizes::kWarps), Sizes::kSharedBytes},
                stream, args);
}

}  // namespace

cudaError_t launch_attention_backward_keys(Act element, const AttentionBackwardArgs& a,
                                           cudaStream_t stream) {
  return with_format_and_depth(element, a.forward.head_size, [&](auto format, auto depth) {
    return launch_keys<decltype(format), decltype(depth)::value>(a, stream);
  });
}

}  // namespace ds::cuda
