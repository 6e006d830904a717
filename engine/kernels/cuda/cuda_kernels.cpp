// CudaKernels: connects the Kernels interface to the CUDA backend's operations.
#include "engine/kernels/cuda/cuda_kernels.h"

#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/cuda_stream.h"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "reading the device's attributes");
  return value;
}

DeviceFacts current_device() {
  DeviceFacts facts;
  check(cudaGetDevice(&facts.device), "getting the current device");
  facts.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, facts.device);
  facts.compute_major = attribute(cudaDevAttrComputeCapabilityMajor, facts.device);
  facts.compute_minor = attribute(cudaDevAttrComputeCapabilityMinor, facts.device);
  facts.max_shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, facts.device);
  return facts;
}

class CudaKernels final : public Kernels {
 public:
  CudaKernels(const std::string& cache_dir, bool fused_epilogues)
      : context_{
            .facts = current_device(), .cache_dir = cache_dir, .fused_epilogues = fused_epilogues} {
    context_.products = make_products(context_);
    context_.attention = make_attention(context_);
    check(cudaStreamCreateWithFlags(&own_stream_, cudaStreamNonBlocking),
          "creating a stream for measurements");
  }
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;
  ~CudaKernels() override { cudaStreamDestroy(own_stream_); }

  [[nodiscard]] std::size_t workspace_bytes(const Extents& e) const override {
    return cuda::workspace_bytes(e);
  }
  void set_workspace(std::byte* data, std::size_t bytes) override {
    DS_ASSERT(reinterpret_cast<std::uintptr_t>(data) % 256 == 0);
    context_.workspace = data;
    context_.workspace_bytes = bytes;
  }

  void run(const KernelOp& op, Stream& stream) override {
    std::visit([&](const auto& a) { cuda::run(context_, a, stream_of(stream)); }, op);
  }

  double measure_matrix_peak(DType act) override {
    return cuda::measure_matrix_peak(context_, act, own_stream_);
  }

  [[nodiscard]] HeadsLayout heads_layout() const override { return HeadsLayout::by_row; }
  [[nodiscard]] std::string arithmetic() const override {
    // The driver and the memory size decide no bits; libraries choose by the multiprocessor count.
    return fmt::format("CUDA {}.{} with {} multiprocessors, {}, {}", context_.facts.compute_major,
                       context_.facts.compute_minor, context_.facts.multiprocessors,
                       context_.products->arithmetic(), context_.attention->arithmetic());
  }

  [[nodiscard]] std::vector<std::string> product_implementations() const override {
    std::vector<std::string> names = context_.products->implementations();
    const std::vector<std::string> attention = context_.attention->implementations();
    names.insert(names.end(), attention.begin(), attention.end());
    return names;
  }

 private:
  Context context_;
  cudaStream_t own_stream_ = nullptr;
};

}  // namespace

std::size_t workspace_bytes(const Kernels::Extents& e) {
  return std::max({linear_scratch_bytes(e), head_scratch_bytes(e), attention_scratch_bytes(e),
                   embed_scratch_bytes(e), norm_scratch_bytes(e)});
}

std::unique_ptr<Kernels> make_cuda_kernels(const std::string& cache_dir, bool fused_epilogues) {
  return std::make_unique<CudaKernels>(cache_dir, fused_epilogues);
}

}  // namespace ds::cuda
