// ProductPlan: one matrix product in the library's terms, with descriptors made once per shape, and
// the choice of its algorithm.
//
// cuBLASLt is column-major: it sees row-major memory as the transpose, and (A B)^T = B^T A^T. The
// library therefore gets our b as its A, our a as its B, and both transpose flags unchanged. (Its
// own row-major order would do the same, but excludes its fast kernels.)
#pragma once

#include <string>
#include <vector>

#include "engine/kernels/cuda/algorithm_cache.h"
#include "engine/kernels/cuda/cublas_lt.h"
#include "engine/kernels/cuda/product.h"

namespace ds::cuda {

/// The table of functions and the handle that all plans share.
struct ProductLibrary {
  const CublasLt* lt = nullptr;
  cublasLtHandle_t handle = nullptr;
};

/// Throws Error{system} that names the product and the library's reason.
[[noreturn]] void raise_library(const CublasLt& lt, cublasStatus_t status, const std::string& what);

class ProductPlan {
 public:
  ProductPlan(const ProductLibrary& library, const Product& product);
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  /// Returns at most `most` algorithms in the library's order of preference; empty if it has none
  /// for this product.
  [[nodiscard]] std::vector<Algorithm> candidates(const Product& product,
                                                  std::int64_t workspace_bytes, int most);
  /// Returns whether the library still supports the algorithm on this device.
  [[nodiscard]] bool accepts(const Product& product, const Algorithm& algorithm);
  /// Launches. The caller checks the status.
  [[nodiscard]] cublasStatus_t launch(const Product& product, const Algorithm& algorithm,
                                      void* workspace, std::int64_t workspace_bytes,
                                      cudaStream_t stream);
  /// Returns a name such as "cublasLt 66, tile 20, stages 35, split 1".
  [[nodiscard]] std::string name_of(const Algorithm& algorithm) const;

 private:
  void point_to(const Product& product);

  ProductLibrary library_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, out_ = nullptr;
  const void *bias_ = nullptr, *aux_ = nullptr;
};

}  // namespace ds::cuda
