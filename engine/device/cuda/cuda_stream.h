// CudaStream: the streams of the CUDA backend.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/device/device.h"

namespace ds::cuda {

/// Runs submitted work at once in the calling thread; the work launches on the CUDA stream.
class CudaStream final : public Stream {
 public:
  /// `priority` as in CUDA: lower values run first.
  CudaStream(const char* name, int priority);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  void submit(const Work& work) override { work.call(work.self, work.item); }
  /// Waits for all work. Errors: any failure of launched work.
  void synchronize() override;

  /// Stores a failure to enqueue a wait or record, which has no op to blame, until synchronize().
  /// The first of several is kept.
  void note(cudaError_t status);
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  const char* name_;
  cudaStream_t stream_ = nullptr;
  cudaError_t failure_ = cudaSuccess;
};

/// Returns the CUDA stream. A host stream has none (a bug).
cudaStream_t stream_of(Stream& stream);

}  // namespace ds::cuda
