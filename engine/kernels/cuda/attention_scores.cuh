// Turns raw products into scores: visible keys, bias by distance, dropout.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/kernels/cuda/attention_args.h"
#include "engine/kernels/cuda/attention_tiles.cuh"
#include "engine/kernels/cuda/dropout.cuh"

namespace ds::cuda {

inline constexpr float kLog2E = 1.4426950408889634F, kLn2 = 0.6931471805599453F;

/// Keys [first, last).
struct KeySpan {
  int first, last;
};

/// The span of what the threads of a block add. The order of atomics does not change it.
class Hull {
 public:
  __device__ Hull(int* shared, int largest) : shared_(shared) {
    if (threadIdx.x == 0) {
      shared[0] = largest;
      shared[1] = 0;
    }
    __syncthreads();
  }
  __device__ void add(int first, int last) const {
    atomicMin(shared_, first);
    atomicMax(shared_ + 1, last);
  }
  /// Returns [0, 0) if nothing was added.
  [[nodiscard]] __device__ KeySpan get() const {
    __syncthreads();
    return shared_[1] == 0 ? KeySpan{0, 0} : KeySpan{shared_[0], shared_[1]};
  }

 private:
  int* shared_;
};

/// One (sequence, head) of queries with the keys and values that it uses.
template <class Format>
struct AttentionHead {
  using Element = typename Format::Element;
  using Source = Rows<const Element>;
  int b, h;
  const AttentionArgs* a;

  __device__ AttentionHead(const AttentionArgs& args, int sequence, int head)
      : b(sequence), h(head), a(&args) {}

  [[nodiscard]] __device__ int group() const { return h / (a->heads / a->kv_heads); }
  /// Returns a head's rows in (B * positions, width), where its sequence begins.
  [[nodiscard]] __device__ Source rows(const void* from, int positions, std::int64_t width,
                                       int head) const {
    return {static_cast<const Element*>(from) + std::int64_t{b} * positions * width +
                std::int64_t{head} * a->head_size,
            width};
  }
  [[nodiscard]] __device__ Source of_queries(const void* from) const {
    return rows(from, a->seq_len, a->q_width, h);
  }
  [[nodiscard]] __device__ Source of_keys(const void* from) const {
    return rows(from, a->key_len, a->kv_width, group());
  }
  [[nodiscard]] __device__ Source queries() const { return of_queries(a->q); }
  [[nodiscard]] __device__ Source keys() const { return of_keys(a->k); }
  [[nodiscard]] __device__ Source values() const { return of_keys(a->v); }
  /// Returns the rows of out or dout of the head.
  [[nodiscard]] __device__ Source outputs(const void* out) const {
    return rows(out, a->seq_len, std::int64_t{a->heads} * a->head_size, h);
  }
  [[nodiscard]] __device__ std::int64_t statistics() const {  // offset in lse and delta
    return (std::int64_t{b} * a->heads + h) * a->seq_len;
  }
  /// Returns the keys that the causal mask and the window leave of the queries [q, q + count).
  [[nodiscard]] __device__ KeySpan in_band(int q, int count) const {
    return {a->window > 0 ? max(0, q - a->window + 1) : 0,
            a->causal ? min(a->key_len, q + count) : a->key_len};
  }
  /// Returns the keys that a query sees.
  [[nodiscard]] __device__ KeySpan seen_by(int q) const {
    KeySpan seen = in_band(q, 1);
    if (q >= a->seq_len) return {0, 0};
    if (a->ranges == nullptr) return seen;
    const std::int32_t* range = a->ranges + 2 * (std::int64_t{b} * a->seq_len + q);
    return {max(seen.first, range[0]), min(seen.last, range[1])};
  }
  [[nodiscard]] __device__ bool sees(int q, int k) const {
    const KeySpan seen = seen_by(q);
    return k >= seen.first && k < seen.last;
  }
  /// Waits for the threads of the block, and returns whether all queries of a tile see all of its
  /// keys.
  [[nodiscard]] __device__ bool wait_and_see_all(int q, int queries, int k, int keys) const {
    if (a->ranges == nullptr) {
      __syncthreads();
      const KeySpan first = in_band(q, 1), last = in_band(q + queries - 1, 1);
      return q + queries <= a->seq_len && last.first <= k && first.last >= k + keys;
    }
    bool all = true;
    for (int i = static_cast<int>(threadIdx.x); i < queries; i += static_cast<int>(blockDim.x)) {
      const KeySpan seen = seen_by(q + i);
      all = all && seen.first <= k && seen.last >= k + keys;
    }
    return __syncthreads_and(all ? 1 : 0) != 0;
  }
  /// Returns the keys from the first to the last that one of the queries [q, q + count) sees; for
  /// all threads of the block. `shared` holds two numbers.
  [[nodiscard]] __device__ KeySpan seen_by_tile(int q, int count, int* shared) const {
    const KeySpan band = in_band(q, count);
    if (a->ranges == nullptr) return band;
    const Hull hull(shared, a->key_len);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
      const KeySpan seen = seen_by(q + i);
      if (seen.first < seen.last) hull.add(seen.first, seen.last);
    }
    return hull.get();
  }
  /// Returns the queries from the first to the last that see one of the keys [k, k + count); for
  /// all threads of the block. `shared` holds two numbers.
  [[nodiscard]] __device__ KeySpan queries_of_tile(int k, int count, int* shared) const {
    if (a->ranges == nullptr) {
      const int last = a->window > 0 ? min(a->seq_len, k + count - 1 + a->window) : a->seq_len;
      return {a->causal ? min(k, last) : 0, last};
    }
    const Hull hull(shared, a->seq_len);
    for (int q = static_cast<int>(threadIdx.x); q < a->seq_len; q += static_cast<int>(blockDim.x)) {
      const KeySpan seen = seen_by(q);
      if (max(seen.first, k) < min(seen.last, k + count)) hull.add(q, q + 1);
    }
    return hull.get();
  }
  /// Returns the score times log2(e), so that exp2 gives the exponential.
  [[nodiscard]] __device__ float score(float product, int q, int k, bool visible) const {
    float x = product * (a->scale * kLog2E);
    if (a->bias != nullptr && visible) {
      x = fmaf(a->bias[std::int64_t{h} * (a->seq_len + a->key_len - 1) + k - q + a->seq_len - 1],
               kLog2E, x);
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
  const auto padded = std::int64_t{a.key_len + 63} / 64 * 64;
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
