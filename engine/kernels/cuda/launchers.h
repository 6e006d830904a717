// Launchers of kernels that share their preparation (rows.cpp): norms and the embedding's gradient.
// Other kernels stand in one .cu file with the run() of their op.
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

/// Scratch of the sort, each array of `rows` elements.
struct TokenSort {
  std::uint32_t *keys, *keys_more;
  std::uint32_t *order, *order_more;
};
struct EmbedGradient {
  const std::int32_t *tokens, *positions;  // positions may be null
  const void* dout;
  float *dwte, *dwpe;  // dwpe may be null; dwte, and with positions dwpe, are added to
  std::int64_t rows, time, width, vocab;
  bool accumulate_wpe;
  TokenSort sort;
};
cudaError_t launch_embed_backward(const Launch& l, Act act, const EmbedGradient& a);

}  // namespace ds::cuda
