// Launchers of the memory-bound kernels: plain pointers and sizes, compiled by nvcc. Callers
// (rows.cpp, update.cpp) check that they fit.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/kernels/cuda/act.h"

namespace ds::cuda {

/// Arguments of every launcher. `multiprocessors` sizes grids and changes no bit of a result.
struct Launch {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;
};

enum class Map : std::uint8_t { add, gelu, gelu_backward };
/// Computes out[i] = f(a[i], b[i]). gelu uses a alone; gelu_backward uses a = pre and b = dout.
cudaError_t launch_map(const Launch& l, Map map, Act act, const void* a, const void* b, void* out,
                       std::int64_t n);
/// Exactly one of the types is f32.
cudaError_t launch_cast(const Launch& l, Act from, Act to, const void* in, void* out,
                        std::int64_t n);
/// in (rows, 2F), out (rows, F).
cudaError_t launch_swiglu(const Launch& l, Act act, const void* in, void* out, std::int64_t rows,
                          std::int64_t ffn);
cudaError_t launch_swiglu_backward(const Launch& l, Act act, const void* in, const void* dout,
                                   void* din, std::int64_t rows, std::int64_t ffn);

/// Numbers of a dropout that are the same for all elements.
struct DropoutNumbers {
  std::uint32_t key0 = 0, key1 = 0;
  float threshold = 0;  // rate * 2^24
  float scale = 1;      // 1 / (1 - rate)
};
cudaError_t launch_dropout(const Launch& l, Act act, const DropoutNumbers& numbers,
                           const std::int64_t* samples, std::int64_t sample_count,
                           std::int64_t elements_a_sample, const void* in, void* out);

struct NormForward {
  const void *in, *delta, *weight, *bias;  // delta may be null; bias is null for RMS norm
  void *sum, *out;
  float *mean, *rstd;  // mean is null for RMS norm
  std::int64_t rows, width;
  float eps;
};
cudaError_t launch_norm(const Launch& l, Act act, const NormForward& a);

struct NormBackward {
  const void *dout, *in, *weight, *dresidual;  // dresidual may be null
  const float *mean, *rstd;                    // mean is null for RMS norm
  void* din;
  float *dweight_parts, *dbias_parts;  // (blocks, width); dbias is null for RMS norm
  float *dweight, *dbias;
  std::int64_t rows, width, block_rows, blocks;
  bool accumulate;
};
cudaError_t launch_norm_backward(const Launch& l, Act act, const NormBackward& a);
/// Norms of rows too wide for a block's registers; launch_norm() and launch_norm_backward() call
/// them where needed. launch_norm_backward() then still adds the blocks' sums.
cudaError_t launch_norm_wide(const Launch& l, Act act, const NormForward& a);
cudaError_t launch_norm_backward_wide(const Launch& l, Act act, const NormBackward& a);

cudaError_t launch_embed(const Launch& l, Act act, const std::int32_t* tokens, const void* wte,
                         const void* wpe, void* out, std::int64_t rows, std::int64_t time,
                         std::int64_t width);

/// Scratch of the sort, each array of `rows` elements.
struct TokenSort {
  std::uint32_t *keys, *keys_more;
  std::uint32_t *order, *order_more;
};
struct EmbedGradient {
  const std::int32_t* tokens;
  const void* dout;
  float *dwte, *dwpe;  // dwpe may be null; dwte is added to
  std::int64_t rows, time, width, vocab;
  bool accumulate_wpe;
  TokenSort sort;
};
cudaError_t launch_embed_backward(const Launch& l, Act act, const EmbedGradient& a);

inline constexpr int kMostRotaryPairs = 256;
/// The angles of position t are t * frequency[i].
struct RotaryNumbers {
  float frequency[kMostRotaryPairs];
  std::int64_t seq_len, rows;
  int turned_heads, copied_heads, head_size;
  bool inverse;
};
cudaError_t launch_rotary(const Launch& l, Act act, const RotaryNumbers& numbers, const void* in,
                          void* out);

inline constexpr int kMostBuckets = 256;
/// Bucket i of one direction holds distances start[i] ... start[i + 1] - 1; the last also all
/// above.
struct BucketStarts {
  std::int32_t start[kMostBuckets];
  int count;
  std::int64_t time, rows;  // rows of the table: buckets of all directions
  bool bidirectional;
};
/// out and dout are (heads, 2 * time - 1); table and dtable are (rows, heads).
cudaError_t launch_relative_bias(const Launch& l, Act act, const BucketStarts& starts,
                                 const void* table, std::int64_t heads, float* out);
cudaError_t launch_relative_bias_backward(const Launch& l, const BucketStarts& starts,
                                          const float* dout, std::int64_t heads, float* dtable,
                                          bool accumulate);

cudaError_t launch_leaf_squares(const Launch& l, const float* in, std::int64_t n, double* sums,
                                std::int64_t* non_finite);

/// Fills `out` with elements first_element ... of the logical tensor.
struct NormalNumbersFill {
  float* out;
  std::int64_t n, first_element;
  float mean, deviation;
  std::uint64_t seed, key;
};
cudaError_t launch_fill_normal(const Launch& l, const NormalNumbersFill& a);

}  // namespace ds::cuda
