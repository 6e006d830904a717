// Launchers of the LM head's own kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/kernels/cuda/act.h"

namespace ds::cuda {

struct SoftmaxRows {
  void* logits = nullptr;                 // 16-byte aligned, as is every row
  const std::int32_t* targets = nullptr;  // below 0: the row does not count
  double* losses = nullptr;               // one per row, 0 where it does not count
  std::int64_t rows = 0;
  std::int64_t row_length = 0;   // elements, whole vectors of 16 bytes
  std::int64_t valid_vocab = 0;  // columns from here on have probability 0
  bool gradient = false;         // the logits become gradients times `scale`
  float scale = 1;
  int max_shared_bytes = 0;  // per block: as much of a row as fits stays in shared memory
};

/// Computes cross-entropies of rows of logits, one block per row.
cudaError_t launch_softmax_rows(Act act, const SoftmaxRows& a, cudaStream_t stream);

/// loss = the sum of losses, count = the number of non-negative targets; one block, fixed order.
cudaError_t launch_sum_losses(const double* losses, const std::int32_t* targets, std::int64_t rows,
                              double* loss, std::int64_t* count, cudaStream_t stream);

}  // namespace ds::cuda
