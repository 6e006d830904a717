// One matrix product in the library's terms: descriptors made once a shape, and the choice of its
// algorithm.
//
// cuBLASLt counts by columns: row-major memory is its transpose there, and (A B)^T = B^T A^T, so
// the library gets our b as its A, our a as its B, and both transposes as they are. (Its own
// row-major order would do the same, and shuts out its fast kernels.)
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

/// Throws Error{system} naming the product and the library's reason.
[[noreturn]] void raise_library(const CublasLt& lt, cublasStatus_t status, const std::string& what);

class ProductPlan {
 public:
  ProductPlan(const ProductLibrary& library, const Product& product);
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;

  /// The library's own order of preference, at most `most`; empty where it has none for this
  /// product.
  [[nodiscard]] std::vector<Algorithm> candidates(const Product& product,
                                                  std::int64_t workspace_bytes, int most);
  /// Whether the library still takes it on this device.
  [[nodiscard]] bool accepts(const Product& product, const Algorithm& algorithm);
  /// Launches; the caller looks at the answer.
  [[nodiscard]] cublasStatus_t launch(const Product& product, const Algorithm& algorithm,
                                      void* workspace, std::int64_t workspace_bytes,
                                      cudaStream_t stream);
  /// "cublasLt 66, tile 20, stages 35, split 1".
  [[nodiscard]] std::string name_of(const Algorithm& algorithm) const;

 private:
  void point_to(const Product& product);

  ProductLibrary library_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, out_ = nullptr;
  const void *bias_ = nullptr, *aux_ = nullptr;
};

}  // namespace ds::cuda
