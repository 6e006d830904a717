// Arguments of the attention kernels: plain pointers and sizes, checked by attention.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "engine/kernels/cuda/act.h"

namespace ds::cuda {

/// Shapes: q (B*T, H*D), k and v (B*S, G*D), each in rows of q_width or kv_width elements (of one
/// tensor qkv, or of queries and kv); out (B*T, H*D); lse (B, H, T) f32, natural logarithms.
struct AttentionArgs {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* out = nullptr;  // written by the forward pass, read by the backward
  float* lse = nullptr;
  const std::int32_t* ranges = nullptr;   // (B, T, 2), or null
  const float* bias = nullptr;            // (H, T + S - 1), or null
  const std::int64_t* samples = nullptr;  // (B), or null: no dropout
  std::int64_t q_width = 0, kv_width = 0;
  std::int32_t batch = 0, heads = 0, kv_heads = 0, seq_len = 0, key_len = 0, head_size = 0;
  std::int32_t window = 0;
  bool causal = true;
  bool vectors = false;  // every row of a head starts at a multiple of 16 bytes
  float scale = 0;
  std::uint32_t dropout_key[2] = {};  // NOLINT(modernize-avoid-c-arrays): read by kernels
  float dropout_threshold = 0;  // rate * 2^24: elements whose 24 bits are below it are dropped
  float dropout_scale = 1;      // 1 / (1 - rate)
};

/// Shapes: dout as out, dq as q, dk and dv as k; delta (B, H, T); dbias (H, T + S - 1), or null;
/// dbias_parts: attention_bias_parts() floats.
struct AttentionBackwardArgs {
  AttentionArgs forward;
  const void* dout = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  float *delta = nullptr, *dbias = nullptr, *dbias_parts = nullptr;
};

/// Returns the query rows per block of the backward kernel of queries.
constexpr std::int32_t attention_bias_rows(Act element, std::int32_t head_size) {
  return element == Act::f32 && head_size > 128 ? 32 : 64;
}
/// Returns the floats of scratch for dbias: a row of sums by distance per block of queries.
constexpr std::int64_t attention_bias_parts(Act element, std::int64_t batch, std::int64_t heads,
                                            std::int64_t seq_len, std::int64_t key_len,
                                            std::int32_t head_size) {
  const std::int64_t rows = attention_bias_rows(element, head_size);
  return batch * heads * ((seq_len + rows - 1) / rows) * (key_len + rows);
}

/// Order: each function returns after the launch. Errors: the runtime's code.
cudaError_t launch_attention(Act element, const AttentionArgs& a, cudaStream_t stream);
cudaError_t launch_attention_delta(Act element, const AttentionBackwardArgs& a,
                                   cudaStream_t stream);
/// Computes dk and dv; the second function computes dq and dbias. Both read delta.
cudaError_t launch_attention_backward_keys(Act element, const AttentionBackwardArgs& a,
                                           cudaStream_t stream);
cudaError_t launch_attention_backward_queries(Act element, const AttentionBackwardArgs& a,
                                              cudaStream_t stream);

}  // namespace ds::cuda
