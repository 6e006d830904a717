// Arithmetic of the fake cuBLASLt: f32 products by columns, summed in the algorithm's order.
#include "compute.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "cuda_emulation.h"

namespace fake_cublaslt {
namespace {

float read(cudaDataType_t type, const void* data, std::int64_t at) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[at];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(data)[at];
  if (type == CUDA_R_16BF) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  _Float16 value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
}

/// Stores a value rounded to nearest even, as the library does.
void write(cudaDataType_t type, void* data, std::int64_t at, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[at] = value;
    return;
  }
  std::uint16_t bits = 0;
  if (type == CUDA_R_16BF) {
    std::uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    bits = std::isnan(value)
               ? 0x7FFF
               : static_cast<std::uint16_t>((wide + 0x7FFFU + ((wide >> 16) & 1U)) >> 16);
  } else {
    const auto half = static_cast<_Float16>(value);
    std::memcpy(&bits, &half, sizeof bits);
  }
  static_cast<std::uint16_t*>(data)[at] = bits;
}

/// Returns op(matrix) as f32, column-major (`first` runs fastest).
std::vector<float> plain(const Layout& l, const void* data, bool transposed) {
  const std::int64_t rows = transposed ? l.columns : l.rows,
                     columns = transposed ? l.rows : l.columns;
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  float* to = out.data();
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      *to++ = read(l.type, data, transposed ? j + i * l.ld : i + j * l.ld);
    }
  }
  return out;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  const double root = 0.79788456080286535588, cube = 0.044715;
  const double t = std::tanh(root * (x + cube * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * cube * x * x);
}

/// Computes sums (m) = column j of op(a) op(b), summed over the depth forwards or backwards.
void add_column(const float* a, const float* b, std::int64_t m, std::int64_t from, std::int64_t to,
                bool backwards, float* sums) {
  for (std::int64_t step = 0; step < to - from; ++step) {
    const std::int64_t p = backwards ? to - 1 - step : from + step;
    const float factor = b[p];
    const float* const column = a + p * m;
    for (std::int64_t i = 0; i < m; ++i) sums[i] += column[i] * factor;
  }
}

void store_column(const Launch& l, std::int64_t j, const std::vector<float>& sums) {
  const Problem& p = l.problem;
  for (std::int64_t i = 0; i < p.d.rows; ++i) {
    const std::int64_t at = i + j * p.d.ld;
    float value = l.alpha * sums[static_cast<std::size_t>(i)];
    if (l.beta != 0.0F) value += l.beta * read(p.c.type, l.c, i + j * p.c.ld);
    if (p.operation.adds_bias()) value += read(p.d.type, p.operation.bias, i);
    if (p.operation.writes_gelu()) {
      // Only the auxiliary matrix gets the rounded argument.
      write(p.d.type, const_cast<void*>(p.operation.aux), i + j * p.operation.aux_ld, value);
      value = static_cast<float>(gelu(static_cast<double>(value)));
    } else if (p.operation.epilogue == CUBLASLT_EPILOGUE_DGELU) {
      const float x = read(p.d.type, p.operation.aux, i + j * p.operation.aux_ld);
      value = static_cast<float>(static_cast<double>(value) * gelu_slope(static_cast<double>(x)));
    }
    write(p.d.type, l.d, at, value);
  }
}

/// Overwrites the vector with the sums of op(A)'s rows, in the order in which the product sums.
void store_sums(const Launch& l, const std::vector<float>& a) {
  const std::int64_t m = l.problem.d.rows, k = l.problem.depth();
  const std::vector<float> ones(static_cast<std::size_t>(k), 1.0F);
  std::vector<float> sums(static_cast<std::size_t>(m), 0.0F);
  add_column(a.data(), ones.data(), m, 0, k, l.choice.id == Choice::slow, sums.data());
  for (std::int64_t i = 0; i < m; ++i) {
    write(l.problem.d.type, const_cast<void*>(l.problem.operation.bias), i,
          sums[static_cast<std::size_t>(i)]);
  }
}

}  // namespace

bool all_reachable(const Launch& l) {
  const auto matrix = [](const Layout& layout, const void* data) {
    const std::int64_t elements = (layout.columns - 1) * layout.ld + layout.rows;
    return emulation::reachable(data, static_cast<std::size_t>(elements * size_of(layout.type)));
  };
  const Problem& p = l.problem;
  const auto size = static_cast<std::size_t>(size_of(p.d.type));
  const auto rows = static_cast<std::size_t>(p.d.rows);
  const bool with_bias = p.operation.adds_bias() || p.operation.sums_a();
  const bool with_aux = p.operation.has_aux();
  Layout aux = p.d;
  aux.ld = p.operation.aux_ld;
  return matrix(p.a, l.a) && matrix(p.b, l.b) && matrix(p.d, l.d) &&
         (l.beta == 0.0F || matrix(p.c, l.c)) &&
         (!with_bias || emulation::reachable(p.operation.bias, rows * size)) &&
         (!with_aux || matrix(aux, p.operation.aux)) &&
         (l.choice.workspace == 0 || emulation::reachable(l.workspace, l.choice.workspace));
}

cudaError_t compute(const Launch& l) {
  if (!l.reachable) return cudaErrorIllegalAddress;
  const Problem& p = l.problem;
  const std::int64_t m = p.d.rows, k = p.depth();
  // Destroys previous contents of the workspace, as the real library may.
  if (l.choice.workspace > 0) std::memset(l.workspace, 0xFF, l.choice.workspace);
  const std::vector<float> a = plain(p.a, l.a, p.operation.transpose_a != CUBLAS_OP_N);
  const std::vector<float> b = plain(p.b, l.b, p.operation.transpose_b != CUBLAS_OP_N);
  const auto rows = static_cast<std::size_t>(m);
  for (std::int64_t j = 0; j < p.d.columns; ++j) {
    std::vector<float> sums(rows, 0.0F), part(rows);
    for (std::int64_t s = 0; s < l.choice.parts; ++s) {
      part.assign(rows, 0.0F);
      add_column(a.data(), b.data() + j * k, m, k * s / l.choice.parts,
                 k * (s + 1) / l.choice.parts, l.choice.id == Choice::slow, part.data());
      for (std::size_t i = 0; i < rows; ++i) sums[i] += part[i];
    }
    store_column(l, j, sums);
  }
  if (p.operation.sums_a()) store_sums(l, a);
  return cudaSuccess;
}

}  // namespace fake_cublaslt
