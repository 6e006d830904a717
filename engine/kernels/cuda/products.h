// Products: all matrix products of the CUDA backend, with the plans of the shapes seen so far and
// the algorithms chosen for them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/cuda/context.h"
#include "engine/kernels/cuda/product_plan.h"

namespace ds::cuda {

/// The library's scratch, part of the scratch of every family that multiplies. NVIDIA recommends
/// this size for Hopper and later. It is the same everywhere, because plans are made without a
/// device.
inline constexpr std::int64_t kProductWorkspace = 32 << 20;

class Products final : public Part {
 public:
  struct Choice {
    std::string device;     // name and size, for the cache's identity
    std::string cache_dir;  // empty: nothing is stored
    /// Whether measured time chooses among the library's best algorithms, where a product may run
    /// several times. The cache keeps the choice; without a cache, the next start may choose other
    /// bits.
    bool by_time = false;
    /// Whether GELU and bias gradients are computed inside the library's products.
    bool fused_epilogues = false;
  };
  Products(const CublasLt& lt, Choice choice);
  ~Products() override;
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// Returns false and launches nothing if the library has no algorithm for the epilogue; a product
  /// without epilogue always runs. The result depends on the shape alone, never on values or on
  /// earlier products.
  [[nodiscard]] bool run(const Product& product, std::byte* workspace, cudaStream_t stream);

  [[nodiscard]] bool fuses() const { return choice_.fused_epilogues; }
  [[nodiscard]] std::vector<std::string> implementations() const override { return names_; }
  [[nodiscard]] std::string arithmetic() const override {
    return fmt::format("cuBLASLt {}{}{}", library_.lt->GetVersion(),
                       choice_.by_time ? ", by time" : "",
                       choice_.fused_epilogues ? ", fused epilogues" : "");
  }

 private:
  struct Known {
    std::unique_ptr<ProductPlan> plan;
    const Algorithm* algorithm = nullptr;  // null: the library has none
  };
  Known& known(const Product& product, std::byte* workspace, cudaStream_t stream, bool& launched);
  void choose(Known& made, const ProductKey& key, const Product& product, std::byte* workspace,
              cudaStream_t stream, bool& launched);

  ProductLibrary library_;
  Choice choice_;
  AlgorithmCache cache_;
  std::map<ProductKey, Known> known_;
  std::vector<std::string> names_;
};

/// Computes a product in any case: epilogues that the library lacks are done by our own kernels
/// after it.
void multiply(Context& c, const Product& product, std::byte* workspace, cudaStream_t stream);

}  // namespace ds::cuda
