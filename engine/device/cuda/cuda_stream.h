// Streams of the CUDA backend, for whoever launches on them.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/device/device.h"

namespace ds::cuda {

/// Its work runs at once, in the calling thread, and launches on the CUDA stream.
class CudaStream final : public Stream {
 public:
  /// `priority` as CUDA counts: lower goes first.
  CudaStream(const char* name, int priority);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  void submit(const Work& work) override { work.call(work.self, work.item); }
  /// Errors: what went wrong with anything that was launched.
  void synchronize() override;

  /// What failed to be put on the stream (waits and records, which have no op to blame): kept until
  /// synchronize(), the first of several.
  void note(cudaError_t status);
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  const char* name_;
  cudaStream_t stream_ = nullptr;
  cudaError_t failure_ = cudaSuccess;
};

/// `stream` as CUDA's. Errors: a host stream has none (a bug).
cudaStream_t stream_of(Stream& stream);

}  // namespace ds::cuda
