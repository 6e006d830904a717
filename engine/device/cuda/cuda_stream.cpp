// CudaStream: creation, waiting and destruction.
#include "engine/device/cuda/cuda_stream.h"

#include <utility>

#include "engine/device/cuda/check.h"

namespace ds::cuda {

CudaStream::CudaStream(const char* name, int priority) : name_(name) {
  // Non-blocking: the legacy default stream, which libraries may use, must not order our work.
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority),
        "creating a CUDA stream");
}

CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

void CudaStream::synchronize() {
  const cudaError_t waited = cudaStreamSynchronize(stream_);
  const cudaError_t noted = std::exchange(failure_, cudaSuccess);
  check(noted != cudaSuccess ? noted : waited, fmt::format("waiting for the {} stream", name_));
}

void CudaStream::note(cudaError_t status) {
  if (failure_ == cudaSuccess) failure_ = status;
}

cudaStream_t stream_of(Stream& stream) {
  auto* const own = dynamic_cast<CudaStream*>(&stream);
  DS_ASSERT(own != nullptr, "GPU kernels must run on streams of the GPU");
  return own->get();
}

}  // namespace ds::cuda
