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

struct CountedRows {
  const std::int32_t* targets = nullptr;  // (rows)
  std::int64_t rows = 0, room = 0;
  std::int32_t* list = nullptr;    // written: the rows that count, in order
  std::int32_t* wanted = nullptr;  // (room), written: their targets, then -1
};
cudaError_t launch_list_rows(const CountedRows& a, cudaStream_t stream);

/// Rows of activations, of which `list` names the first `taken`.
struct RowCopy {
  const void* in = nullptr;
  const std::int32_t* list = nullptr;
  std::int64_t taken = 0, rows = 0, width = 0;
  float scale = 1;
  void* out = nullptr;
};
/// out[r] = in[list[r]] * scale; zeros from row `taken` to `rows`.
cudaError_t launch_gather_rows(Act act, const RowCopy& a, cudaStream_t stream);
/// out[list[r]] = in[r] * scale.
cudaError_t launch_scatter_rows(Act act, const RowCopy& a, cudaStream_t stream);
/// Sets the rows of out (rows, width) without a target to 0.
cudaError_t launch_clear_rows(Act act, const std::int32_t* targets, std::int64_t rows,
                              std::int64_t width, void* out, cudaStream_t stream);

}  // namespace ds::cuda
