// ProductsBench: a CudaBench with product state and a cuBLASLt whose behavior the test sets.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "cuda_bench.h"

namespace ds::conformance {

/// Sets the fake library's behavior (tests/cuda_emulation/cublaslt/problem.h) for a scope.
class Behaviour {
 public:
  explicit Behaviour(const char* name) { ::setenv("DS_EMULATION_CUBLASLT", name, 1); }
  ~Behaviour() { ::unsetenv("DS_EMULATION_CUBLASLT"); }
  Behaviour(const Behaviour&) = delete;
  Behaviour& operator=(const Behaviour&) = delete;
};

class ProductsBench : public CudaBench {
 public:
  explicit ProductsBench(const Kernels::Extents& e, const CudaOptions& options = {},
                         const std::string& cache_dir = {}, bool fused_epilogues = false)
      : CudaBench(std::max(cuda::linear_scratch_bytes(e), cuda::head_scratch_bytes(e)), options) {
    context().cache_dir = cache_dir;
    context().fused_epilogues = fused_epilogues;
    context().products = cuda::make_products(context());
  }
  [[nodiscard]] std::vector<std::string> names() { return context().products->implementations(); }
  /// Returns how many implementation names contain `part`.
  [[nodiscard]] std::size_t named(const std::string& part) {
    std::size_t count = 0;
    for (const std::string& name : names()) count += name.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
};

}  // namespace ds::conformance
