// All matrix products of the CUDA backend: the plans of the shapes seen so far and the algorithms
// chosen for them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/cuda/context.h"
#include "engine/kernels/cuda/product_plan.h"

namespace ds::cuda {

/// The library's scratch, part of every family's that multiplies. What NVIDIA names for Hopper and
/// later; and the same for all, since the plan is made where there is no device.
inline constexpr std::int64_t kProductWorkspace = 32 << 20;

class Products final : public Part {
 public:
  struct Choice {
    std::string device;     // name and size, for the cache's identity
    std::string cache_dir;  // empty: nothing is kept
    /// Whether the device's clock chooses among the library's best, where a product may run several
    /// times. What it chose is kept in the cache; without one, the next start may choose other
    /// bits.
    bool by_time = false;
    /// Whether GELU and bias gradients are made inside the library's products.
    bool fused_epilogues = false;
  };
  Products(const CublasLt& lt, Choice choice);
  ~Products() override;
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// False, and nothing was launched, when the library has no algorithm for the epilogue; without
  /// one there is always a way. Depends on the shape alone, never on values or on what ran before.
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

/// A product by any way there is: what the library has no epilogue for is done by kernels of our
/// own after it.
void multiply(Context& c, const Product& product, std::byte* workspace, cudaStream_t stream);

}  // namespace ds::cuda
