// Launchers beside the library's matrix products: column sums, and slow kernels for shapes that the
// library refuses.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/kernels/cuda/act.h"

namespace ds::cuda {

/// Returns the number of f32 partial sums that column sums need.
constexpr std::int64_t column_sum_partials(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kRowsOfBlock = 256;
  return (rows + kRowsOfBlock - 1) / kRowsOfBlock * columns;
}

/// Elements of activations (rows, columns), `row_length` from one row to the next.
struct ActMatrix {
  Act act;
  std::int64_t rows, columns, row_length;
};

/// sums (+)= the sums over the rows of `in`, within blocks of rows, then over blocks.
cudaError_t launch_column_sums(const ActMatrix& m, const void* in, float* partials, float* sums,
                               bool accumulate, cudaStream_t stream);

/// sums (+)= added (columns), in f32.
cudaError_t launch_take_sums(const float* added, std::int64_t columns, float* sums, bool accumulate,
                             cudaStream_t stream);

/// out += bias (columns).
cudaError_t launch_add_bias(const ActMatrix& m, void* out, const void* bias, cudaStream_t stream);

/// A product with any strides: element (i, j) of an operand is at i * row + j * column.
struct PlainProduct {
  struct Operand {
    const void* data;
    std::int64_t row, column;
  };
  Operand a, b;
  void* out;
  std::int64_t out_row, m, n, k;
  bool accumulate;
};

/// `out` is f32 or has the type `act`.
cudaError_t launch_plain_product(Act act, bool out_f32, const PlainProduct& p, cudaStream_t stream);

}  // namespace ds::cuda
