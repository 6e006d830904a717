// Turns raw products into scores: visible keys, bias by distance, dropout.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/kernels/cuda/attention_args.h"
#include "engine/kernels/cuda/attention_tiles.cuh"
#include "engine/kernels/cuda/dropout.cuh"

namespace ds::cuda {

inline constexpr float kLog2E = 1.4426950408889634F, kLn2 = 0.6931471805599453F;

/// One (sequence, head) of queries with the keys and values that it uses.
template <class Format>
struct AttentionHead {
  using Element = typename Format::Element;
  using Source = Rows<const Element>;
  int b, h, limit;  // keys from `limit` on are masked
  std::int64_t width, first_row;
  const AttentionArgs* a;

  __device__ AttentionHead(const AttentionArgs& args, int sequence, int head)
      : b(sequence),
        h(head),
        limit(args.lengths == nullptr ? args.seq_len
                                      : max(0, min(args.lengths[sequence], args.seq_len))),
        width(std::int64_t{args.heads + 2 * args.kv_heads} * args.head_size),
        first_row(std::int64_t{sequence} * args.seq_len),
        a(&args) {}

  [[nodiscard]] __device__ int group() const { return h / (a->heads / a->kv_heads); }
  [[nodiscard]] __device__ Source part(const void* qkv, int column_head) const {
    return {static_cast<const Element*>(qkv) + first_row * width +
                std::int64_t{column_head} * a->head_size,
            width};
  }
  [[nodiscard]] __device__ Source queries() const { return part(a->qkv, h); }
  [[nodiscard]] __device__ Source keys() const { return part(a->qkv, a->heads + group()); }
  [[nodiscard]] __device__ Source values() const {
    return part(a->qkv, a->heads + a->kv_heads + group());
  }
  /// Returns the rows of out or dout of the head.
  [[nodiscard]] __device__ Source outputs(const void* out) const {
    const std::int64_t stride = std::int64_t{a->heads} * a->head_size;
    return {static_cast<const Element*>(out) + first_row * stride + std::int64_t{h} * a->head_size,
            stride};
  }
  [[nodiscard]] __device__ std::int64_t statistics() const {  // offset in lse and delta
    return (std::int64_t{b} * a->heads + h) * a->seq_len;
  }
  [[nodiscard]] __device__ bool sees(int q, int k) const {
    return k < limit && q < a->seq_len && (!a->causal || k <= q);
  }
  /// Returns whether all queries of a tile see all of its keys.
  [[nodiscard]] __device__ bool sees_all(int q, int queries, int k, int keys) const {
    return k + keys <= limit && q + queries <= a->seq_len && (!a->causal || k + keys - 1 <= q);
  }
  /// Returns the score times log2(e), so that exp2 gives the exponential.
  [[nodiscard]] __device__ float score(float product, int q, int k, bool visible) const {
    float x = product * (a->scale * kLog2E);
    if (a->bias != nullptr && visible) {
      x = fmaf(a->bias[std::int64_t{h} * (2 * a->seq_len - 1) + k - q + a->seq_len - 1], kLog2E, x);
    }
    return x;
  }
};

/// Draws dropout for a tile of queries and the 64 keys around key k. Bit k / 16 % 4 of byte
/// [query][k % 16] is set if the probability is kept.
template <class Format>
__device__ void draw_kept(std::uint8_t* kept, const AttentionHead<Format>& head, int first_query,
                          int queries, int first_key) {
  const AttentionArgs& a = *head.a;
  const auto padded = std::int64_t{a.seq_len + 63} / 64 * 64;
  const auto sample = static_cast<std::uint64_t>(a.samples[head.b]);
  for (int i = static_cast<int>(threadIdx.x); i < queries * 16; i += static_cast<int>(blockDim.x)) {
    const std::int64_t row = std::int64_t{head.h} * a.seq_len + first_query + i / 16;
    const std::int64_t element = row * padded + first_key / 64 * 64;
    const auto counter = static_cast<std::uint64_t>(element / 64 * 16 + i % 16);
    const auto words = dropout_words(a.dropout_key[0], a.dropout_key[1], sample, counter);
    unsigned bits = 0;
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      const bool keep = static_cast<float>(words[w] >> 8) >= a.dropout_threshold;
      bits |= keep ? 1U << w : 0U;
    }
    kept[i] = static_cast<std::uint8_t>(bits);
  }
}

/// Returns the dropout factor of one probability of the tile.
[[nodiscard]] inline __device__ float kept_factor(const std::uint8_t* kept, int query, int key,
                                                  float scale) {
  return (kept[query * 16 + key % 16] >> (key / 16 % 4) & 1) != 0 ? scale : 0.0F;
}

}  // namespace ds::cuda
