// Arguments of the attention kernels: plain pointers and sizes, checked by attention.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "engine/kernels/cuda/act.h"

namespace ds::cuda {

/// Shapes: qkv (B*T, (H + 2G) * D) in rows, out (B*T, H*D); lse (B, H, T) f32, natural logarithms.
struct AttentionArgs {
  const void* qkv = nullptr;
  void* out = nullptr;  // written by the forward pass, read by the backward
  float* lse = nullptr;
  const std::int32_t* lengths = nullptr;  // (B), or null
  const float* bias = nullptr;            // (H, 2T - 1), or null
  const std::int64_t* samples = nullptr;  // (B), or null: no dropout
  std::int32_t batch = 0, heads = 0, kv_heads = 0, seq_len = 0, head_size = 0;
  bool causal = true;
  bool vectors = false;  // every row of a head starts at a multiple of 16 bytes
  float scale = 0;
  std::uint32_t dropout_key[2] = {};  // NOLINT(modernize-avoid-c-arrays): read by kernels
  float dropout_threshold = 0;  // rate * 2^24: elements whose 24 bits are below it are dropped
  float dropout_scale = 1;      // 1 / (1 - rate)
};

/// Shapes: dout as out, dqkv as qkv; delta (B, H, T); dbias (H, 2T - 1), or null; dbias_parts:
/// attention_bias_parts() floats.
struct AttentionBackwardArgs {
  AttentionArgs forward;
  const void* dout = nullptr;
  void* dqkv = nullptr;
  float *delta = nullptr, *dbias = nullptr, *dbias_parts = nullptr;
};

/// Returns the query rows per block of the backward kernel of queries.
constexpr std::int32_t attention_bias_rows(Act element, std::int32_t head_size) {
  return element == Act::f32 && head_size > 128 ? 32 : 64;
}
/// Returns the floats of scratch for dbias: a row of sums by distance per block of queries.
constexpr std::int64_t attention_bias_parts(Act element, std::int64_t batch, std::int64_t heads,
                                            std::int64_t seq_len, std::int32_t head_size) {
  const std::int64_t rows = attention_bias_rows(element, head_size);
  return batch * heads * ((seq_len + rows - 1) / rows) * (seq_len + rows);
}

/// Sets counts[i] = value for i < n.
cudaError_t launch_attention_counts(std::int32_t* counts, std::int32_t n, std::int32_t value,
                                    cudaStream_t stream);
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
